package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// origins takes origins as browsers write them, since they are compared to the letter.
func (d *draft) origins(texts []string) error {
	var wrong []string
	for i, text := range texts {
		switch {
		case text == AnyOrigin && len(texts) > 1:
			wrong = append(wrong, fmt.Sprintf("%q means every origin, so it stands alone", AnyOrigin))
		case text != AnyOrigin && !isOrigin(text):
			wrong = append(wrong, fmt.Sprintf("%q is not an origin such as https://example.com: scheme and host in lower case, a port that is not the scheme's own, and no path", text))
		case slices.Contains(texts[:i], text):
			wrong = append(wrong, fmt.Sprintf("%q is given twice", text))
		}
	}
	d.Origins = texts
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.Hostname() != "" && text == u.Scheme+"://"+u.Host && text == strings.ToLower(text) &&
		!strings.Contains(text, "*") && // nothing would match it
		!strings.HasSuffix(u.Host, ":") && (u.Scheme != "https" || u.Port() != "443") && (u.Scheme != "http" || u.Port() != "80")
}
