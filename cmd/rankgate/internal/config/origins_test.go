package config_test

import (
	"strings"
	"testing"

	"rankgate/cmd/rankgate/internal/config"
)

func TestOrigins(t *testing.T) {
	for text, ok := range map[string]bool{
		`[]`: true, `["*"]`: true, `["https://a.example"]`: true, `["http://localhost:3000", "https://a.example:8443"]`: true,
		`["capacitor://localhost"]`: true, `["https://[::1]:8443"]`: true,
		`["*", "https://a.example"]`: false, `["https://a.example", "https://a.example"]`: false, `["a.example"]`: false,
		`["https://a.example/"]`: false, `["https://A.example"]`: false, `["https://a.example:443"]`: false, `["http://a.example:80"]`: false,
		`["https://*.example"]`: false, `["null"]`: false, `["https://u@a.example"]`: false, `["https://"]`: false, `["https://:80"]`: false, `["https://a:"]`: false, `[""]`: false,
	} {
		_, err := config.Load(config.Source{File: write(t, "cors: { origins: "+text+" }")})
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "rankgate.yaml:1: cors.origins: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestStoreURLs(t *testing.T) {
	for url, ok := range map[string]bool{
		"redis://h": true, "redis://h:6379/": true, "rediss://u:p%2Fw@h/15": true, "redis+cluster://a:7000,b:7000": true, "redis+cluster://a:7000,b:7000/0": true,
		"redis://h/notadb": false, "redis://h/1x": false, "redis://h/-1": false, "redis://h/01": false, "redis://h/1/2": false,
		"redis://a,b": false, "redis+cluster://a:7000/1": false, "redis://": false, "redis://:s3cret@h/x": false, "memcached://h": false,
	} {
		_, err := config.Load(config.Source{File: write(t, "store: { url: '"+url+"' }")})
		if (err == nil) != ok || err != nil && (!strings.HasPrefix(err.Error(), "rankgate.yaml:1: store.url: ") || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A list is looked through to its end.
func TestEveryWrongOriginIsTold(t *testing.T) {
	_, err := config.Load(config.Source{File: write(t, `cors: { origins: ["game.example", "*", "https://a.b/path"] }`)})
	for _, want := range []string{`"game.example" is not`, `"*" means every`, `"https://a.b/path" is not`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s too", err, want)
		}
	}
}
