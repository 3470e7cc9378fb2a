package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

const healthcheckTimeout = 2 * time.Second

func newHealthcheck(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "healthcheck",
		Short:   "For containers: exit 0 when /livez of the configured address answers",
		Example: `  HEALTHCHECK CMD ["/rankgate", "healthcheck"]`,
		Args:    cobra.NoArgs,
	}
	s := configFlags(cmd, "listen")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		if err := alive(cmd.Context(), cfg.Listen); err != nil {
			return err
		}
		fmt.Fprintln(io.out, "alive")
		return nil
	}
	return cmd
}

// alive asks /livez of the server that listens on addr.
func alive(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, localURL(addr)+"/livez", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a proxy would answer for itself
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/livez answers %s", resp.Status)
	}
	return nil
}

// localURL is where a client on this machine reaches a listener on addr.
func localURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		addr = net.JoinHostPort("127.0.0.1", port)
		if ip != nil && ip.To4() == nil {
			addr = net.JoinHostPort("::1", port)
		}
	}
	return "http://" + addr
}
