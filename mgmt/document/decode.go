package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// MaxSize is the largest document that is read, in bytes. The largest possible
// configuration (every backend number in use) fits.
const MaxSize = 16 << 20

// Decode reads a YAML or JSON document. IDs and resolved addresses of names
// stay unset. Every value was checked by its own rule; rules between values,
// objects and farms are for [validate.Rules], or use Load. An error is one
// *Error or several of them joined.
func Decode(b []byte) (*farm.Config, error) {
	d, err := decode(b)
	if err != nil {
		return nil, err
	}
	return d.cfg, nil
}

// Load is Decode followed by all rules, whose errors it places in the document.
func Load(b []byte, rules validate.Rules) (*farm.Config, error) {
	d, err := decode(b)
	if err != nil {
		return nil, err
	}
	broken := rules.All(d.cfg)
	for i := range broken {
		n := d.place(&broken[i])
		d.found.add(n, &broken[i])
	}
	return d.cfg, d.found.err()
}

// decoder walks a tree and remembers where each object and field was.
type decoder struct {
	cfg    *farm.Config
	found  problems
	places map[string]*node // path, or path and field joined by a NUL
}

func decode(b []byte) (*decoder, error) {
	root, err := parse(b)
	if err != nil {
		var placed *Error
		if !errors.As(err, &placed) {
			err = &Error{Err: err}
		}
		return nil, err
	}
	d := &decoder{cfg: &farm.Config{}, places: map[string]*node{}}
	d.document(root)
	return d, d.found.err()
}

func parse(b []byte) (*node, error) {
	if len(b) > MaxSize {
		return nil, fmt.Errorf("the document has %d bytes, at most %d are read", len(b), MaxSize)
	}
	if i := invalidUTF8(b); i >= 0 {
		line := 1 + bytes.Count(b[:i], []byte{'\n'})
		return nil, &Error{Line: line, Column: i - bytes.LastIndexByte(b[:i], '\n'), Err: errors.New("the document is not valid UTF-8 text")}
	}
	if trimmed := bytes.TrimLeft(b, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		return parseJSON(b)
	}
	return parseYAML(string(b))
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
	if root == nil || root.kind == null {
		d.found = append(d.found, &Error{Err: errors.New(`the document is empty; write "farms: []" for no farm at all`)})
		return
	}
	body, lists, ok := d.object(root, "", nil, []string{"farms"})
	if !ok || body == nil {
		return
	}
	farms := lists["farms"]
	if farms == nil || farms.kind == null {
		d.found.addf(root, `farms is required: a list of farms, "farms: []" for none`)
		return
	}
	for i, n := range d.items(farms, "", "farms") {
		d.farm(n, i)
	}
}

func (d *decoder) farm(n *node, position int) {
	path := validate.FarmPath(textOf(n, "name", fmt.Sprintf("number %d", position+1)))
	f := farm.Farm{}
	if textOf(n, "profile", "") == string(farm.ProfileL4) {
		if lists, ok := fill(d, n, path, &validate.L4FarmDocument, &f, "backends"); ok {
			f.L4.Backends = backends(d, lists, path, farm.Group{Farm: &f}, &validate.L4BackendDocument)
			d.cfg.Farms = append(d.cfg.Farms, f)
		}
		return
	}
	lists, ok := fill(d, n, path, &validate.FarmDocument, &f, validate.ReplaceRequest.Farm, validate.ReplaceResponse.Farm, "services")
	if !ok {
		return
	}
	rules(d, lists, path, &validate.ReplaceRequest, &f.HTTP.ReplaceRequest)
	rules(d, lists, path, &validate.ReplaceResponse, &f.HTTP.ReplaceResponse)
	for i, item := range d.items(lists["services"], path, "services") {
		d.service(item, &f, i)
	}
	d.cfg.Farms = append(d.cfg.Farms, f)
}

func (d *decoder) service(n *node, f *farm.Farm, position int) {
	path := validate.ServicePath(f.Name, textOf(n, "name", fmt.Sprintf("number %d", position+1)))
	s := farm.Service{}
	lists, ok := fill(d, n, path, &validate.ServiceDocument, &s, validate.ReplaceRequest.Service, validate.ReplaceResponse.Service, validate.Rewrites.Service, "backends")
	if !ok {
		return
	}
	rules(d, lists, path, &validate.ReplaceRequest, &s.ReplaceRequest)
	rules(d, lists, path, &validate.ReplaceResponse, &s.ReplaceResponse)
	rules(d, lists, path, &validate.Rewrites, &s.Rewrites)
	s.Backends = backends(d, lists, path, farm.Group{Farm: f, Service: &s}, &validate.BackendDocument)
	f.HTTP.Services = append(f.HTTP.Services, s)
}

// backends decodes those of a group, which is the object at path.
func backends(d *decoder, lists map[string]*node, path string, of farm.Group, table *validate.Table[farm.Backend]) []farm.Backend {
	var out []farm.Backend
	for i, item := range d.items(lists["backends"], path, "backends") {
		b := farm.Backend{}
		if _, ok := fill(d, item, validate.PathOfBackend(of, i), table, &b); ok {
			out = append(out, b)
		}
	}
	return out
}

// rules decodes one list of rules of the object at path. Farms and services
// have those that documents write as objects under the same name.
func rules[T comparable](d *decoder, lists map[string]*node, path string, kind *validate.RuleList[T], to *[]T) {
	for i, item := range d.items(lists[kind.Service], path, kind.Service) {
		var rule T
		if _, ok := fill(d, item, validate.RulePath(path, kind.Service, i), &kind.Rule, &rule); ok {
			*to = append(*to, rule)
		}
	}
}

// fill decodes the mapping n into an object of one table; inner names the
// lists of objects below it, which it returns.
func fill[T any](d *decoder, n *node, path string, table *validate.Table[T], to *T, inner ...string) (map[string]*node, bool) {
	d.places[path] = n
	body, lists, ok := d.object(n, path, table.Names(), inner)
	if !ok {
		return nil, false
	}
	values, err := table.Decode(path, body)
	if err == nil {
		err = values.Apply(to)
	}
	if err != nil {
		var broken *validate.Error
		if errors.As(err, &broken) {
			d.found.add(d.place(broken), err)
		}
		return nil, false
	}
	return lists, true
}

// object splits a mapping into the values a table decodes and the inner lists.
// Unknown and duplicate keys are reported here, each at its own place.
func (d *decoder) object(n *node, path string, names, inner []string) (body map[string]any, lists map[string]*node, ok bool) {
	if n.kind != mapping {
		d.found.add(n, &validate.Error{Path: path, Message: "must be an object with fields, got " + n.kind.String()})
		return nil, nil, false
	}
	names = append(names, inner...)
	body, lists, ok = map[string]any{}, map[string]*node{}, true
	for _, e := range n.entries {
		d.places[place(path, e.key)] = e.at
		switch {
		case sentBefore(body, lists, e.key):
			d.found.add(e.at, &validate.Error{Path: path, Field: e.key, Message: e.key + " is given twice; keep one of them"})
			ok = false
		case slices.Contains(inner, e.key):
			lists[e.key] = e.value
		case !slices.Contains(names, e.key):
			d.found.add(e.at, unknown(path, e.key, names))
			ok = false
		default:
			body[e.key] = e.value.raw()
		}
	}
	return body, lists, ok
}

func sentBefore(body map[string]any, lists map[string]*node, key string) bool {
	_, inBody := body[key]
	return inBody || lists[key] != nil
}

func unknown(path, key string, names []string) error {
	message := fmt.Sprintf("unknown field %.64q", key)
	if near := validate.Suggest(key, names); near != "" {
		message += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return &validate.Error{Path: path, Field: key, Message: message + "; allowed are " + strings.Join(names, ", ")}
}

func (d *decoder) items(n *node, path, name string) []*node {
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != list {
		d.found.add(n, &validate.Error{Path: path, Field: name, Message: fmt.Sprintf("%s must be a list, got %s", name, n.kind)})
		return nil
	}
	return n.items
}

// place finds where an error belongs: the field, else its object.
func (d *decoder) place(e *validate.Error) *node {
	if n := d.places[place(e.Path, e.Field)]; n != nil {
		return n
	}
	if n := d.places[e.Path]; n != nil {
		return n
	}
	return &node{}
}

func place(path, field string) string { return path + "\x00" + field }

// textOf is what a mapping says of itself under a key: its name, for paths, or
// its profile.
func textOf(n *node, key, otherwise string) string {
	for _, e := range n.entries {
		if e.key == key && e.value.kind == scalar && e.value.text != "" {
			return e.value.text
		}
	}
	return otherwise
}
