package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

func text(what string, to *string, check func(string) error) leaf {
	return leaf{what, func(text string) error {
		if err := check(text); err != nil {
			return err
		}
		*to = text
		return nil
	}}
}

// choice is a leaf with a fixed choice.
func choice[T ~string](to *T, names ...T) leaf {
	var all []string
	for _, n := range names {
		all = append(all, string(n))
	}
	return leaf{"one of " + strings.Join(all, ", "), func(text string) error {
		for _, n := range names {
			if string(n) == text {
				*to = n
				return nil
			}
		}
		return fmt.Errorf("%q is not one of %s", text, strings.Join(all, ", "))
	}}
}

func parsed(what string, set func([]byte) error) leaf {
	return leaf{what, func(text string) error { return set([]byte(text)) }}
}

func number[T int | int64](to *T, low, high T) leaf {
	return leaf{wholeNumber, func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("want %s, got %q", wholeNumber, text)
		case err != nil || n < int64(low) || n > int64(high):
			return fmt.Errorf("%s is not within %d..%d", text, low, high)
		}
		*to = T(n)
		return nil
	}}
}

// duration is no shorter than least: below it, what it is for cannot work.
func duration(to *time.Duration, least time.Duration) leaf {
	return leaf{"a duration such as 10m", func(text string) error {
		d, err := parseDuration(text)
		if err != nil {
			return err
		}
		if d < least {
			return fmt.Errorf("%s is shorter than %s", text, durationText(least))
		}
		*to = d
		return nil
	}}
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 500ms, 10m or 168h", text)
	case d <= 0:
		return 0, fmt.Errorf("%s is not longer than nothing", text)
	}
	return d, nil
}

// sizeUnits are tried in this order, so that "GB" is not read as "B".
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
	{"", 1},
}

// size is no less than least.
func size(to *int64, least int64) leaf {
	return leaf{"a size such as 10GB", func(text string) error {
		for _, u := range sizeUnits {
			digits, ok := strings.CutSuffix(text, u.suffix)
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
			if err != nil || n <= 0 || n > (1<<62)/u.bytes {
				break
			}
			if n *= u.bytes; n < least {
				return fmt.Errorf("%s is less than %s", text, sizeText(least))
			}
			*to = n
			return nil
		}
		return fmt.Errorf("%q is not a size such as 500MB or 10GB", text)
	}}
}

// sizeText is the shortest way to write a size exactly.
func sizeText(n int64) string {
	best := strconv.FormatInt(n, 10)
	for _, u := range sizeUnits[:8] {
		if n%u.bytes != 0 {
			continue
		}
		if s := strconv.FormatInt(n/u.bytes, 10) + u.suffix; len(s) < len(best) {
			best = s
		}
	}
	return best
}

// durationText is d without the zeros that time.Duration ends in: 168h, not 168h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func checkGiven(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

func checkAddress(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q is not within 0..65535", port)
	} else if strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("port %q is not a plain number", port)
	}
	return nil
}

var (
	errLogURL   = errors.New("want embedded, or nats://host:4222 (tls:// for TLS), several with commas")
	errStoreURL = errors.New("want embedded, redis://host:6379/0 or redis+cluster://a:7000,b:7000 (rediss for TLS)")
	errDatabase = errors.New("what follows the host is the number of a database, such as redis://host:6379/0; a cluster has none")

	storeSchemes = map[string]bool{"redis": true, "rediss": true, "redis+cluster": true, "rediss+cluster": true}
)

// The checks of URLs never repeat what they got: it may hold a password.

func checkLogURL(text string) error {
	if text == Embedded {
		return nil
	}
	for _, one := range strings.Split(text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return errLogURL
		}
	}
	return nil
}

func checkStoreURL(text string) error {
	if text == Embedded {
		return nil
	}
	scheme, rest, _ := strings.Cut(text, "://")
	at := strings.LastIndex(rest, "@") // a password may hold a slash
	hosts, database, _ := strings.Cut(rest[at+1:], "/")
	first, others, _ := strings.Cut(hosts, ",") // a cluster's list of hosts is no URL
	cluster := strings.HasSuffix(scheme, "+cluster")
	u, err := url.Parse(scheme + "://" + first)
	if err != nil || u.Host == "" || !storeSchemes[u.Scheme] {
		return errStoreURL
	}
	if others != "" && !cluster {
		return errors.New("several hosts are a cluster: redis+cluster://a:7000,b:7000")
	}
	if n, err := strconv.ParseUint(database, 10, 31); database != "" && (err != nil || strconv.FormatUint(n, 10) != database || cluster && n > 0) {
		return errDatabase
	}
	return nil
}
