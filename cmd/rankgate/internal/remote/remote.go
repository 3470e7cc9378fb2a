// Package remote holds what the commands share that speak to a running rankgate: where a board is, and what an
// answer that is no success says, in one line.
//
// It sends nothing itself. It may import rankcore.
package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"rankgate/rankcore"
)

// Default is the server that commands speak to unless told otherwise.
const Default = "http://127.0.0.1:8080"

// BoardURL is the URL of a board on a server, or says what is wrong with either.
func BoardURL(server, board string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the server must be a URL such as " + Default)
	}
	if _, err := rankcore.ParseBoardID(board); err != nil {
		return "", err
	}
	return strings.TrimRight(server, "/") + "/v1/boards/" + board, nil
}

// Refusal is a problem answer in one line.
func Refusal(status int, body []byte) error {
	var p struct{ Title, Detail string }
	if json.Unmarshal(body, &p) != nil || p.Title == "" {
		p.Title = http.StatusText(status)
	}
	text := fmt.Sprintf("the server refuses: %d %s", status, p.Title)
	if p.Detail != "" {
		text += ": " + strings.TrimSuffix(p.Detail, ".")
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		text += "; give a service key with --key or RANKGATE_KEY"
	}
	return errors.New(text)
}

// Cause is err without the method and URL that net/http puts before it.
func Cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
