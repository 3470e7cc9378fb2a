package main

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metric is the value of a metric, named with its labels if it has some.
func metric(t *testing.T, a api, name string) float64 {
	t.Helper()
	resp, err := http.Get(a.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return number(t, text)
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
