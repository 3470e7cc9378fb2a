package config

import (
	"io"
	"net/url"
	"strings"

	"github.com/goccy/go-yaml"

	"rankgate/rankcore"
)

// masked stands where a secret was.
const masked = "****"

// Print writes the whole configuration as YAML that Load reads back, with every secret masked.
func (c *Config) Print(w io.Writer) error {
	return yaml.NewEncoder(w, yaml.UseSingleQuote(false), yaml.IndentSequence(true)).Encode(c.tree())
}

func (c *Config) tree() yaml.MapSlice {
	boards := yaml.MapSlice{}
	for _, b := range c.Boards {
		boards = append(boards, yaml.MapItem{Key: string(b.ID), Value: boardTree(b)})
	}
	return yaml.MapSlice{
		{Key: "listen", Value: c.Listen},
		{Key: "ops_listen", Value: c.OpsListen},
		{Key: "data", Value: c.Data},
		{Key: "role", Value: string(c.Role)},
		{Key: "log", Value: yaml.MapSlice{
			{Key: "url", Value: MaskURL(c.Log.URL)},
			{Key: "listen", Value: c.Log.Listen},
			{Key: "durability", Value: string(c.Log.Durability)},
			{Key: "monitors", Value: maskURLs(c.Log.Monitors)},
			{Key: "replicas", Value: c.Log.Replicas},
			{Key: "retention", Value: durationText(c.Log.Retention)},
			{Key: "max_bytes", Value: sizeText(c.Log.MaxBytes)},
		}},
		{Key: "store", Value: yaml.MapSlice{{Key: "url", Value: MaskURL(c.StoreURL)}}},
		{Key: "auth", Value: c.Auth.tree()},
		{Key: "quota", Value: yaml.MapSlice{{Key: "exact_per_day", Value: c.Quota.ExactPerDay}}},
		{Key: "limits", Value: yaml.MapSlice{
			{Key: "per_address_rps", Value: c.Limits.PerAddressRPS},
			{Key: "per_address_conns", Value: c.Limits.PerAddressConns},
			{Key: "core_concurrency", Value: c.Limits.CoreConcurrency},
		}},
		{Key: "cache", Value: yaml.MapSlice{{Key: "max_bytes", Value: sizeText(c.Cache.MaxBytes)}}},
		{Key: "cors", Value: yaml.MapSlice{{Key: "origins", Value: append([]string{}, c.Origins...)}}},
		{Key: "boards", Value: boards},
	}
}

func boardTree(b *rankcore.Board) yaml.MapSlice {
	var seasons []string
	for _, k := range b.Seasons {
		seasons = append(seasons, k.String())
	}
	keep := yaml.MapSlice{}
	for _, k := range []rankcore.SeasonKind{rankcore.Day, rankcore.Week, rankcore.Month} {
		keep = append(keep, yaml.MapItem{Key: k.String(), Value: durationText(b.Keep[k])})
	}
	return yaml.MapSlice{
		{Key: "order", Value: b.Order.String()},
		{Key: "update", Value: b.Update.String()},
		{Key: "ties", Value: b.Ties.String()},
		{Key: "scale", Value: b.Scale},
		{Key: "shards", Value: b.Shards},
		{Key: "seasons", Value: seasons},
		{Key: "timezone", Value: b.Location.String()},
		{Key: "keep", Value: keep},
		{Key: "head", Value: b.Head},
		{Key: "exact_depth", Value: b.ExactDepth},
		{Key: "dedupe", Value: durationText(b.Dedupe)},
		{Key: "freshness", Value: durationText(b.Freshness)},
		{Key: "snapshot_every", Value: durationText(b.SnapshotEvery)},
		{Key: "snapshot_max_age", Value: durationText(b.SnapshotMaxAge)},
	}
}

// MaskURL is the URL, or comma separated URLs, without passwords, tokens and query values, for people to read.
func MaskURL(text string) string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = maskOne(part)
	}
	return strings.Join(parts, ",")
}

func maskOne(text string) string {
	if !strings.Contains(text, "://") { // a further host of a list, which must not have credentials and may
		if at := strings.LastIndex(text, "@"); at >= 0 {
			return masked + text[at:]
		}
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil && !strings.ContainsAny(text, "@/?") {
		return text // a further host, 10.0.0.2:7001, whose scheme stands before the first one
	}
	if err != nil {
		return masked
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), masked)
		} else {
			u.User = url.User(masked) // NATS takes a token there
		}
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "pass") {
			query.Set(name, masked)
		}
	}
	u.RawQuery = query.Encode()
	return strings.ReplaceAll(u.String(), url.QueryEscape(masked), masked)
}
