package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"rankgate/cmd/rankgate/internal/config"
	"rankgate/cmd/rankgate/internal/players"
)

func newDemo(io streams) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a board with simulated players, and a page to look at; nothing is kept",
		Long: `demo is serve on a temporary folder, with a few thousand simulated players who score through the HTTP API.
Open the address it prints. It ends with Ctrl-C, and leaves nothing behind.`,
		Example: `  rankgate demo
  curl http://127.0.0.1:8080/v1/boards/demo/top?limit=3`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&addr, "listen", "127.0.0.1:8080", "loopback address to serve on; a free port when this one is taken")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), addr, io) }
	return cmd
}

func demo(ctx context.Context, addr string, io streams) error {
	dir, err := os.MkdirTemp("", "rankgate-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cfg, err := config.Load(config.Source{Flags: []config.Flag{
		{Name: "--listen", Key: "listen", Value: freeAddress(ctx, addr)},
		{Name: "--data", Key: "data", Value: dir},
	}})
	if err != nil {
		return err
	}
	if !config.IsLoopback(cfg.Listen) {
		return fmt.Errorf("--listen %s: the demo serves this machine only", addr)
	}
	var playing sync.WaitGroup
	defer playing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return serve(ctx, cfg, io, func(url string) {
		fmt.Fprintf(io.out, "%d simulated players are scoring. Open %s/ and end it with Ctrl-C.\n", players.Count, url)
		playing.Go(func() { players.Play(ctx, url+"/v1/boards/"+cfg.BoardNames()[0]) })
	})
}

// freeAddress is addr, or one with a free port when addr is taken.
func freeAddress(ctx context.Context, addr string) string {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(addr)
		return net.JoinHostPort(host, "0")
	}
	if err == nil {
		ln.Close()
	}
	return addr
}
