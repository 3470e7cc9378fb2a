package config

import (
	"errors"
	"net/url"
)

const monitorURLs = "a list of monitoring URLs such as http://nats:8222"

// monitors are where external log servers answer about themselves: NATS tells its clients nothing of syncing.
func (d *draft) monitors(texts []string) error {
	for _, text := range texts {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("want URLs such as http://nats:8222") // never shows what it got: a password may be in it
		}
	}
	d.Log.Monitors = texts
	return nil
}

// maskURLs is MaskURL for each.
func maskURLs(texts []string) []string {
	shown := make([]string, len(texts))
	for i, text := range texts {
		shown[i] = MaskURL(text)
	}
	return shown
}
