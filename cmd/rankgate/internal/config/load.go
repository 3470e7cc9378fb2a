package config

import (
	"os"
	"slices"
	"strings"

	"rankgate/rankcore"
)

// Flag is a key given on the command line.
type Flag struct {
	Name  string // as it was typed, such as "--listen"
	Key   string // such as "listen"
	Value string
}

// Source is everything a configuration is read from. Later fields weigh more.
type Source struct {
	File    string   // a path; "" for none
	Environ []string // as os.Environ gives it
	Flags   []Flag
}

// Load reads, completes and checks a configuration. Its error is Problems when what was read is wrong.
func Load(src Source) (*Config, error) {
	d := &draft{Config: Default(), boards: map[string]*rankcore.Board{}, shards: map[string]bool{}}
	r := &reader{given: map[string]place{}}
	r.keys = d.keys()
	if src.File != "" {
		r.file = src.File
		text, err := os.ReadFile(src.File)
		if err != nil {
			return nil, Problems{{Where: src.File, Text: "cannot be read: " + reason(err)}}
		}
		r.source(r.keys, "", text)
	}
	r.environ(src.Environ, d)
	for _, f := range src.Flags {
		r.name = f.Name
		r.variable(r.keys[f.Key], f.Key, f.Value)
	}
	r.name = ""
	d.complete(r)
	d.checkTogether(r)
	if len(r.problems) > 0 {
		sortProblems(r.problems)
		return nil, r.problems
	}
	return d.Config, nil
}

// reason is err without the path that its reader knows already.
func reason(err error) string {
	if p, ok := err.(*os.PathError); ok { //nolint:errorlint // os.ReadFile returns exactly this, and a wrapped one keeps its words
		return p.Err.Error()
	}
	return err.Error()
}

// complete adds what nobody gave.
func (d *draft) complete(r *reader) {
	if _, told := r.given["log.durability"]; !told && d.Log.URL != Embedded {
		d.Log.Durability = OS // another server's is not known, and cannot be asked
	}
	if len(d.boards) == 0 {
		d.boards["demo"] = defaultBoard("demo")
	}
	for name, b := range d.boards {
		if !d.shards[name] {
			b.Shards = d.defaultShards()
		}
		d.Boards = append(d.Boards, b)
	}
	d.sortBoards()
	d.completeAuth(r)
}

// checkTogether finds values that are right alone and wrong together.
func (d *draft) checkTogether(r *reader) {
	wrong := func(bad bool, path, format string, args ...any) {
		if bad {
			at, ok := r.given[path]
			if !ok {
				at = place{file: r.file}
			}
			r.problem(at, path, format, args...)
		}
	}
	embedded := d.Log.URL == Embedded
	wrong(d.Role != RoleAll && (embedded || d.StoreURL == Embedded), "role",
		"%s needs log.url and store.url of servers that all processes share (nats:// and redis://); embedded ones live inside one process", d.Role)
	wrong(!embedded && d.Log.Listen != "", "log.listen", "only the embedded log listens; log.url names another one")
	wrong(embedded && d.Log.Replicas > 1, "log.replicas", "the embedded log keeps one copy; %d need a NATS cluster in log.url", d.Log.Replicas)
	wrong(d.OpsListen != "" && d.OpsListen == d.Listen, "ops_listen", "is the same address as listen; leave it empty")
	d.checkAuth(r, wrong)
}

// environPrefix begins the name of every variable that is a key.
const environPrefix = "RANKGATE_"

// environ reads the variables, in the order of their names.
func (r *reader) environ(environ []string, d *draft) {
	environ = slices.Sorted(slices.Values(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		path, ok := strings.CutPrefix(name, environPrefix)
		if !ok || notAKey(path) {
			continue
		}
		r.name = name
		k, full, wrong := r.find(strings.Split(strings.ToLower(path), "__"), d)
		if wrong != "" {
			r.problem(r.place(0), "", "%s", wrong)
			continue
		}
		r.variable(k, full, value)
	}
	r.name = ""
}

// notAKey reports variables that wear the prefix and are no keys: RANKGATE_KEY is the credential of
// the import command, and Kubernetes sets the others for any service that is called rankgate.
func notAKey(path string) bool {
	return path == "KEY" || path == "PORT" || strings.HasPrefix(path, "PORT_") || strings.HasPrefix(path, "SERVICE_")
}

// find is the key that the levels of a variable's name lead to.
func (r *reader) find(levels []string, d *draft) (k key, path, wrong string) {
	k = r.keys
	for _, level := range levels {
		switch at := k.(type) {
		case section:
			k, wrong = known(at, level)
		case named:
			level = d.boardLike(level)
			keys, err := at.open(level)
			if err != nil {
				return nil, "", err.Error()
			}
			k = keys
		default:
			return nil, "", "unknown key; " + path + " has no keys below it"
		}
		if wrong != "" {
			return nil, "", wrong
		}
		path = join(path, level)
	}
	return k, path, ""
}

// boardLike is the board that a variable means: its name cannot hold the dashes that a board's may.
func (d *draft) boardLike(name string) string {
	if d.boards[name] != nil {
		return name
	}
	for board := range d.boards {
		if strings.ReplaceAll(board, "-", "_") == name {
			return board
		}
	}
	return name
}

// variable reads the value of a variable or flag: plain text for a single value, commas or YAML for the rest.
func (r *reader) variable(k key, path, value string) {
	switch k := k.(type) {
	case leaf:
		r.set(r.place(0), path, k.set(value))
	case words:
		value = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(value), "["), "]")
		texts := strings.Split(value, ",")
		for i := range texts {
			texts[i] = strings.TrimSpace(texts[i])
		}
		r.set(r.place(0), path, k.set(texts))
	default:
		r.source(k, path, []byte(value))
	}
}
