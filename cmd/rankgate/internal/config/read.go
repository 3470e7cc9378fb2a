package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// reader walks what it is given along the keys and keeps every problem it meets.
type reader struct {
	keys     section
	file     string
	name     string // the variable or flag being read, instead of the file
	problems Problems
	given    map[string]place // full key -> where it was given last
}

func (r *reader) place(line int) place {
	if r.name != "" {
		return place{name: r.name}
	}
	return place{file: r.file, line: line}
}

func (r *reader) problem(at place, path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" && at.name == "" {
		text = path + ": " + text
	}
	r.problems = append(r.problems, Problem{Where: at.String(), Text: text, line: at.line})
}

// source reads a YAML text for key k.
func (r *reader) source(k key, path string, src []byte) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))                         // some editors begin a file so
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey()) // duplicates are found here, all of them
	if err != nil {
		line, text := 1, err.Error()
		var y yaml.Error
		if errors.As(err, &y) {
			text = y.GetMessage()
			if t := y.GetToken(); t != nil && t.Position != nil {
				line = t.Position.Line
			}
		}
		r.problem(r.place(line), "", "not YAML: %s", text)
		return
	}
	seen := false
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if seen {
			r.problem(r.place(lineOf(doc.Body)), "", "a second document; want one")
			return
		}
		seen = true
		r.node(k, path, doc.Body)
	}
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// node reads the value n for key k.
func (r *reader) node(k key, path string, n ast.Node) {
	at := r.place(lineOf(n))
	switch n.(type) {
	case *ast.NullNode:
		r.problem(at, path, "has no value; want %s", k.want())
		return
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.problem(at, path, "anchors (&), aliases (*) and tags (!) are not supported: write the value out")
		return
	}
	switch k := k.(type) {
	case section:
		r.mapping(n, path, k, func(name string) (key, string) { return known(k, name) })
	case named:
		r.mapping(n, path, k, func(name string) (key, string) {
			keys, err := k.open(name)
			if err != nil {
				return keys, err.Error()
			}
			return keys, ""
		})
	case list:
		k.clear()
		r.items(n, path, k, func(i int, item ast.Node) {
			full := fmt.Sprintf("%s[%d]", path, i)
			r.given[full] = r.place(lineOf(item))
			r.node(k.add(), full, item)
		})
	case words:
		var texts []string
		before := len(r.problems)
		r.items(n, path, k, func(_ int, item ast.Node) {
			if text, ok := r.scalar(item, path, k); ok {
				texts = append(texts, text)
			}
		})
		if len(r.problems) == before {
			r.set(at, path, k.set(texts))
		}
	case leaf:
		r.leaf(k, at, path, n)
	}
}

func (r *reader) leaf(k leaf, at place, path string, n ast.Node) {
	text, ok := r.scalar(n, path, k)
	if !ok {
		return
	}
	if _, isNumber := n.(*ast.IntegerNode); k.what == wholeNumber && !isNumber {
		r.problem(at, path, "want %s, got %q", k.what, text)
		return
	}
	r.set(at, path, k.set(text))
}

func (r *reader) set(at place, path string, err error) {
	r.given[path] = at
	if err != nil {
		r.problem(at, path, "%v", err)
	}
}

// known is the key of that name, or what is wrong with the name.
func known(k section, name string) (key, string) {
	sub, ok := k[name]
	if !ok {
		return nil, "unknown key; there is " + strings.Join(slices.Sorted(maps.Keys(k)), ", ")
	}
	return sub, ""
}

// mapping reads every pair of n. find gives the key of a name, or what is wrong with that name.
func (r *reader) mapping(n ast.Node, path string, k key, find func(name string) (key, string)) {
	pairs, ok := n.(ast.MapNode)
	if !ok {
		r.problem(r.place(lineOf(n)), path, "want %s", k.want())
		return
	}
	lines := map[string]int{}
	for it := pairs.MapRange(); it.Next(); {
		at := r.place(lineOf(it.Key()))
		name := it.Key().GetToken().Value
		full := join(path, name)
		if first, twice := lines[name]; twice {
			r.problem(at, full, "given twice; first on line %d", first)
			continue
		}
		lines[name] = lineOf(it.Key())
		sub, wrong := find(name)
		if wrong != "" {
			r.problem(at, full, "%s", wrong)
		}
		if sub != nil {
			r.given[full] = at
			r.node(sub, full, it.Value())
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (r *reader) items(n ast.Node, path string, k key, each func(i int, item ast.Node)) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.problem(r.place(lineOf(n)), path, "want %s", k.want())
		return
	}
	for i, item := range seq.Values {
		each(i, item)
	}
}

// scalar is the text of a single value.
func (r *reader) scalar(n ast.Node, path string, k key) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	r.problem(r.place(lineOf(n)), path, "want %s", k.want())
	return "", false
}
