package servers

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Answers is nil when a GET of url answers 200 within a second, and else says what came.
func Answers(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	request.Close = true // the next one asks a new process, perhaps
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s says %s", url, answer.Status)
	}
	return nil
}
