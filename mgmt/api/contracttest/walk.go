package contracttest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Walk performs random operations with random bodies until a time, and reports each
// deviation from the document. The same seed gives the same sequence.
func Walk(t *testing.T, g *Target, d *Document, seed uint64, until time.Time) {
	s := setUp(t, g, d)
	w := walk{stage: s, rand: rand.New(rand.NewPCG(seed, 0))}
	for calls := 0; time.Now().Before(until) && !t.Failed(); calls++ {
		if calls%500 == 0 { // otherwise deletions would empty everything
			s.beside()
			s.apply(d.Operations[0], `{"farms":[]}`)
			s.apply(d.Operations[0], s.document)
		}
		if o := d.Operations[w.rand.IntN(len(d.Operations))]; w.goes(o) {
			w.step(o)
		}
	}
	t.Logf("seed %d: %d calls were taken", seed, w.taken)
}

// walk is the state of one walk.
type walk struct {
	*stage
	rand  *rand.Rand
	taken int
}

// goes reports whether a walk may use an operation: it must not lock itself out or block.
func (w *walk) goes(o *Operation) bool {
	return !o.streams() && !strings.HasPrefix(o.Path, "/session") && !strings.HasPrefix(o.Path, "/system/users") && o.Path != "/keys/{key}"
}

func (w *walk) step(o *Operation) {
	name := ""
	if p := o.parameters("path"); len(p) > 0 && w.chance(8) {
		name = text(p[w.rand.IntN(len(p))]["name"])
	}
	c := Call{Method: o.Method, Path: w.at(o, name, pick(w.rand, oddNames)), Kind: w.typicalKind(o), Body: w.body(o)}
	if o.changes() && w.chance(10) {
		c.Headers = []string{"If-Match", pick(w.rand, []string{`"1"`, "*", `"99999999"`, "x"})}
	}
	if o.query("dry_run") && w.chance(6) {
		c.Path += "?dry_run=true"
	}
	if _, is := w.try(o, c); is {
		w.taken++
	}
}

// body returns a random body: some fields, each with a random value.
func (w *walk) body(o *Operation) string {
	schema, _ := w.doc.jsonBody(o)
	if schema == nil || w.chance(20) {
		return w.typicalBody(o)
	}
	variant := pick(w.rand, w.doc.variants(schema))
	properties := object(variant["properties"])
	of := w.required(variant)
	names := sortedKeys(properties)
	for range w.rand.IntN(4) {
		name := pick(w.rand, names)
		values := w.doc.right(object(properties[name]))
		if len(values) == 0 || w.chance(3) {
			values = w.doc.forField(object(properties[name]))
		}
		of[name] = pick(w.rand, values)
	}
	return body(of, "", "")
}

// chance is true once in n times.
func (w *walk) chance(n int) bool { return w.rand.IntN(n) == 0 }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// oddNames lists unused and hostile names.
var oddNames = []string{"none", "-rf", "../x", "..", "$(id)", "a\nb", "a b", "ѕhop", "%2e%2e", strings.Repeat("a", 3000), "-1", "99999999999999999999", "0", "*", "api", "dns", "1"}

func sortedKeys(of map[string]any) (out []string) {
	for name := range of {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
