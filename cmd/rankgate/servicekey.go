package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rankgate/cmd/rankgate/internal/config"
	"rankgate/gateway"
)

// serviceAuth is who may write. Where nobody was named and others than this machine can connect, it is the
// holder of a key that is kept in the data folder; made is that key when it is new.
func serviceAuth(cfg *config.Config) (auth gateway.ServiceAuth, made string, err error) {
	if cfg.Auth.Service == config.AuthKeys {
		auth.Mode = gateway.ModeKeys
		for _, k := range cfg.Auth.ServiceKeys {
			auth.Keys = append(auth.Keys, gateway.ServiceKey{Name: k.Name, SHA256: hex.EncodeToString(k.SHA256[:])})
		}
		return auth, "", nil
	}
	if cfg.Auth.Service == config.AuthJWT {
		return gateway.ServiceAuth{Mode: gateway.ModeJWT}, "", nil // wire brings who judges the tokens
	}
	if config.IsLoopback(cfg.Listen) {
		return gateway.ServiceAuth{Mode: gateway.ModeNone}, "", nil
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return auth, "", fmt.Errorf("data folder: %w", err)
	}
	key, isNew, err := keptKey(filepath.Join(cfg.Data, "service.key"))
	if err != nil {
		return auth, "", fmt.Errorf("service key: %w", err)
	}
	if isNew {
		made = key
	}
	sum := sha256.Sum256([]byte(key))
	return gateway.ServiceAuth{
		Mode: gateway.ModeKeys,
		Keys: []gateway.ServiceKey{{Name: "service.key", SHA256: hex.EncodeToString(sum[:])}},
	}, made, nil
}

// minKeyLength refuses a file that was cut off or emptied.
const minKeyLength = 16

// keptKey is the key in the file, made when there is none. Gateways that share the folder share the key.
func keptKey(file string) (key string, isNew bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		key = rand.Text()
		if err = keepKey(file, key); !errors.Is(err, fs.ErrExist) {
			return key, true, err
		}
		text, err = os.ReadFile(file) // another gateway was quicker
	}
	if err != nil {
		return "", false, err
	}
	if key = strings.TrimSpace(string(text)); len(key) < minKeyLength {
		return "", false, fmt.Errorf("%s holds no key of at least %d characters: remove it to get a new one", file, minKeyLength)
	}
	return key, false, nil
}

// keepKey writes the file whole or not at all, and never over another.
func keepKey(file, key string) error {
	temp, err := os.CreateTemp(filepath.Dir(file), "service.key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(key + "\n")
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Link(temp.Name(), file)
}
