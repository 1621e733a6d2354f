package document

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// MaxSize is the maximum size of a document in bytes. The largest possible configuration, with
// every backend number in use, fits.
const MaxSize = 16 << 20

// Decode reads a YAML or JSON document. IDs and resolved addresses of names stay unset. Each
// value is checked by its own rule; rules between values, objects and farms are left to
// [validate.Rules] or Load. The error is an *Error or several of them joined.
func Decode(b []byte) (*farm.Config, error) {
	d, err := decode(b, false)
	if err != nil {
		return nil, err
	}
	return d.result()
}

// Load is Decode with all rules; their errors get their position in the document. Errors about
// an object with a wrong value, or below it, are omitted because they are consequences.
func Load(b []byte, rules validate.Rules) (*farm.Config, error) {
	d, err := decode(b, false)
	if err != nil {
		return nil, err
	}
	return d.checked(rules, d.cfg)
}

// LoadPart is Load for a document with a part of a configuration; of is the rest. The rules
// apply to the result of Merge. It returns the part.
func LoadPart(b []byte, rules validate.Rules, of *farm.Config) (*farm.Config, error) {
	d, err := decode(b, true)
	if err != nil {
		return nil, err
	}
	return d.checked(rules, Merge(of, d.cfg))
}

// checked adds the errors of the whole configuration to the errors of its values.
func (d *decoder) checked(rules validate.Rules, whole *farm.Config) (*farm.Config, error) {
	broken := rules.All(whole)
	for i := range broken {
		if !d.follows(broken[i].Path) {
			d.found.add(d.position(&broken[i]), &broken[i])
		}
	}
	return d.result()
}

// decoder walks a tree and records the position of each object and field.
type decoder struct {
	cfg       *farm.Config
	found     problems
	positions map[string]*node // by path, or by path and field joined by a NUL
	broken    []string         // paths of the objects with a wrong value
	hasFarms  bool             // a document has a list of farms, which may be empty
}

// decode reads the documents of a stream as one, with joined lists. A part may omit the list of
// farms.
func decode(b []byte, part bool) (*decoder, error) {
	roots, err := parse(b)
	if err != nil {
		var positioned *Error
		if !errors.As(err, &positioned) {
			err = &Error{Err: err}
		}
		return nil, err
	}
	d := &decoder{cfg: &farm.Config{SystemUnsaid: true, ChecksUnsaid: true}, positions: map[string]*node{}}
	for _, root := range roots {
		d.document(root)
	}
	switch {
	case len(roots) == 0:
		d.found = append(d.found, &Error{Err: errors.New(`the document is empty; write "farms: []" for no farm at all`)})
	case !part && !d.hasFarms && len(d.found) == 0:
		d.found.addf(roots[0], `farms is required: a list of farms, "farms: []" for none`)
	}
	return d, nil
}

func (d *decoder) result() (*farm.Config, error) {
	if err := d.found.err(); err != nil {
		return nil, err
	}
	return d.cfg, nil
}

// follows reports whether the object at path or one of its parents has a wrong value.
func (d *decoder) follows(path string) bool {
	return slices.ContainsFunc(d.broken, func(of string) bool {
		rest, below := strings.CutPrefix(path, of)
		return below && (rest == "" || rest[0] == ' ')
	})
}

// mark is the byte order mark, which some Windows editors write. It is skipped.
const mark = "\ufeff"

// parse reads each document of a stream that is not empty.
func parse(b []byte) (roots []*node, err error) {
	if len(b) > MaxSize {
		return nil, fmt.Errorf("the document has %d bytes, at most %d are read", len(b), MaxSize)
	}
	b = bytes.TrimPrefix(b, []byte(mark))
	if i := invalidUTF8(b); i >= 0 {
		line := 1 + bytes.Count(b[:i], []byte{'\n'})
		return nil, &Error{Line: line, Column: i - bytes.LastIndexByte(b[:i], '\n'), Err: errors.New("the document is not valid UTF-8 text")}
	}
	for lines, text := range documents(b) {
		root, err := parseOne(text)
		if positioned, is := errors.AsType[*Error](err); is && positioned.Line > 0 {
			positioned.Line += lines
		}
		if err != nil {
			return nil, err
		}
		if root != nil && root.kind != null {
			root.down(lines)
			roots = append(roots, root)
		}
	}
	return roots, nil
}

func parseOne(b []byte) (*node, error) {
	if trimmed := bytes.TrimLeft(b, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		return parseJSON(b)
	}
	return parseYAML(string(b))
}

// documents splits a stream at lines of three dashes and yields each document with the number
// of lines before it.
func documents(b []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		start, lines, line := 0, 0, 0
		for at := 0; at < len(b); {
			end := len(b)
			if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			if rest, is := bytes.CutPrefix(b[at:end], []byte("---")); is && isBlank(rest) {
				if !yield(lines, b[start:at]) {
					return
				}
				start, lines = end, line+1
			}
			at, line = end, line+1
		}
		yield(lines, b[start:])
	}
}

// isBlank reports whether rest is only white space and a comment.
func isBlank(rest []byte) bool {
	trimmed := bytes.TrimSpace(rest)
	return len(trimmed) == 0 || trimmed[0] == '#' && len(rest) > 0 && rest[0] != '#'
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func (d *decoder) document(root *node) {
	before := len(d.found)
	lists := d.object(root, "", nil, []string{"system", "checks", "farms"}).lists
	if len(d.found) > before {
		return
	}
	d.system(lists["system"])
	d.checks(lists["checks"])
	farms := lists["farms"]
	if farms == nil || farms.kind == null {
		return
	}
	d.hasFarms = true
	for i, n := range d.items(farms, "", "farms") {
		d.farm(n, i)
	}
}

// system decodes the settings of the machine. A document without them leaves them unchanged; if
// it has a system, settings that it omits get their defaults.
func (d *decoder) system(n *node) {
	if n == nil || n.kind == null {
		return
	}
	if !d.cfg.SystemUnsaid {
		d.found.addf(n, "system is in two documents: write it in one of them")
		return
	}
	d.cfg.SystemUnsaid = false
	var names []string
	for i := range system.Sections {
		names = append(names, system.Sections[i].Name)
	}
	sections := d.object(n, "system", nil, names).lists
	for i := range system.Sections {
		s := &system.Sections[i]
		if of := sections[s.Name]; of != nil && of.kind != null {
			fill(d, of, s.Path(), &s.Table, &d.cfg.System)
		}
	}
}

// checks decodes the list of checks. A document without one leaves them unchanged.
func (d *decoder) checks(n *node) {
	if n == nil || n.kind == null {
		return
	}
	d.cfg.ChecksUnsaid = false
	for i, item := range d.items(n, "", "checks") {
		path := check.Path(textOf(item, "name", fmt.Sprintf("number %d", i+1)))
		var c farm.Check
		fill(d, item, path, &check.Document, &c)
		if c.Name != "" {
			d.cfg.Checks = append(d.cfg.Checks, c)
		}
	}
}

func (d *decoder) farm(n *node, position int) {
	path := profile.FarmPath(textOf(n, "name", fmt.Sprintf("number %d", position+1)))
	f := farm.Farm{}
	of := profile.Named(farm.Profile(textOf(n, "profile", "")))
	p := profiles[of.Name()]
	p.read(d, fill(d, n, path, of.Farm().Document, &f, p.lists...), path, &f)
	d.keep(f)
}

// keep adds a farm whose name and profile are known, so that the rules can find more errors
// than its wrong values.
func (d *decoder) keep(f farm.Farm) {
	if f.Name != "" && f.Profile != "" {
		d.cfg.Farms = append(d.cfg.Farms, f)
	}
}

func (d *decoder) service(n *node, f *farm.Farm, position int) {
	path := profile.ServicePath(f.Name, textOf(n, "name", fmt.Sprintf("number %d", position+1)))
	s := farm.Service{}
	lists := fill(d, n, path, &httpfarm.ServiceDocument, &s, httpfarm.ReplaceRequest.Service, httpfarm.ReplaceResponse.Service, httpfarm.Rewrites.Service, "backends")
	rules(d, lists, path, &httpfarm.ReplaceRequest, &s.ReplaceRequest)
	rules(d, lists, path, &httpfarm.ReplaceResponse, &s.ReplaceResponse)
	rules(d, lists, path, &httpfarm.Rewrites, &s.Rewrites)
	s.Backends = backends(d, lists, path, f.GroupOf(&s), &httpfarm.BackendDocument)
	if s.Name != "" {
		f.SetServices(append(f.Services(), s))
	}
}

// backends decodes the backends of a group, which is the object at path.
func backends(d *decoder, lists map[string]*node, path string, of farm.Group, table *field.Table[farm.Backend]) []farm.Backend {
	var out []farm.Backend
	for i, item := range d.items(lists["backends"], path, "backends") {
		b := farm.Backend{}
		fill(d, item, profile.PathOfBackend(of, i), table, &b)
		out = append(out, b)
	}
	return out
}

// rules decodes one list of rules of the object at path. Farms and services have the same name
// for lists that documents write as objects.
func rules[T comparable](d *decoder, lists map[string]*node, path string, kind *httpfarm.RuleList[T], to *[]T) {
	for i, item := range d.items(lists[kind.Service], path, kind.Service) {
		var rule T
		fill(d, item, httpfarm.RulePath(path, kind.Service, i), &kind.Rule, &rule)
		*to = append(*to, rule)
	}
}

// fill decodes the valid values of the mapping n into an object of a table. inner names the
// lists of objects below it, which it returns.
func fill[T any](d *decoder, n *node, path string, table *field.Table[T], to *T, inner ...string) map[string]*node {
	d.positions[path] = n
	before := len(d.found)
	o := d.object(n, path, table.Names(), inner)
	if o.body != nil {
		values, broken := table.DecodeAll(path, o.body)
		for _, err := range append(broken, values.ApplyAll(to)...) {
			d.found.add(d.position(err), err)
		}
	}
	if len(d.found) > before {
		d.broken = append(d.broken, path)
	}
	return o.lists
}

// mapped is a mapping, split into the values that a table decodes and the inner lists. Both are
// nil if the node is no mapping.
type mapped struct {
	body  map[string]any
	lists map[string]*node
}

// object splits a mapping. It reports unknown and duplicate keys at their own positions.
func (d *decoder) object(n *node, path string, names, inner []string) mapped {
	if n.kind != mapping {
		d.found.add(n, &field.Error{Path: path, Message: "must be an object with fields, got " + n.kind.String()})
		return mapped{}
	}
	names = append(names, inner...)
	o := mapped{map[string]any{}, map[string]*node{}}
	for _, e := range n.entries {
		d.positions[positionKey(path, e.key)] = e.at
		switch {
		case o.has(e.key):
			d.found.add(e.at, &field.Error{Path: path, Field: e.key, Message: e.key + " is given twice; keep one of them"})
		case slices.Contains(inner, e.key):
			o.lists[e.key] = e.value
		case !slices.Contains(names, e.key):
			d.found.add(e.at, field.Unknown(path, e.key, names))
		default:
			o.body[e.key] = e.value.raw()
		}
	}
	return o
}

func (o mapped) has(key string) bool {
	_, inBody := o.body[key]
	return inBody || o.lists[key] != nil
}

func (d *decoder) items(n *node, path, name string) []*node {
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != list {
		d.found.add(n, &field.Error{Path: path, Field: name, Message: fmt.Sprintf("%s must be a list, got %s", name, n.kind)})
		return nil
	}
	return n.items
}

// position returns the position of an error: its field, else its object.
func (d *decoder) position(e *field.Error) *node {
	if n := d.positions[positionKey(e.Path, e.Field)]; n != nil {
		return n
	}
	if n := d.positions[e.Path]; n != nil {
		return n
	}
	return &node{}
}

func positionKey(path, field string) string { return path + "\x00" + field }

// textOf returns the text of a mapping under a key, e.g. its name or profile, or otherwise.
func textOf(n *node, key, otherwise string) string {
	for _, e := range n.entries {
		if e.key == key && e.value.kind == scalar && e.value.text != "" {
			return e.value.text
		}
	}
	return otherwise
}
