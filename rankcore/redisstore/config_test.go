package redisstore

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, c := range []struct {
		url  string
		want address
	}{
		{"redis://localhost", address{hosts: []string{"localhost:6379"}}},
		{"redis://10.0.0.1:6380/3", address{hosts: []string{"10.0.0.1:6380"}, db: 3}},
		{"redis://[::1]:6380", address{hosts: []string{"[::1]:6380"}}},
		{"rediss://me:p%40ss@h:1/0", address{hosts: []string{"h:1"}, tls: true, user: "me", password: "p@ss"}},
		{"redis+cluster://a:7000,b:7001,c", address{hosts: []string{"a:7000", "b:7001", "c:6379"}, cluster: true}},
		{"rediss+cluster://:secret@a:7000/", address{hosts: []string{"a:7000"}, cluster: true, tls: true, password: "secret"}},
	} {
		if got, err := parseAddress(c.url); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v", c.url, got, err)
		}
	}
	for _, url := range []string{
		"", "localhost:6379", "http://a:1", "redis://", "redis://a:1,b:2", "redis://a:1/x", "redis://a:1/-1", "redis://a:1/1x",
		"redis+cluster://a:1/2", "redis+cluster://a:1,", "redis://u:secret%zz@a:1", "redis://u:secret@a:port",
	} {
		if _, err := parseAddress(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want an error that shows no password", url, err)
		}
	}
}
