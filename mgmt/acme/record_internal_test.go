package acme

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs"
)

func TestACertificateIsDueAMonthOrAThirdBeforeItsEnd(t *testing.T) {
	const day = 24 * time.Hour
	for life, want := range map[time.Duration]time.Duration{365 * day: 30 * day, 90 * day: 30 * day, 6 * day: 2 * day} {
		if due := dueAt(certs.View{NotBefore: noon.Add(-life), NotAfter: noon}); !due.Equal(noon.Add(-want)) {
			t.Errorf("of %s: due at %s", life, due)
		}
	}
}

func TestRecordsFollowTheirCertificates(t *testing.T) {
	m, f := newFakes(func(f *fakes, _ *Options) { f.settings[recordsName] = "[" })
	if !strings.Contains(f.log.String(), "their list cannot be read") {
		t.Errorf("log:\n%s", &f.log)
	}
	f.views = map[string]certs.View{"a.pem": {Name: "a.pem", Fingerprint: "0A:04"}, "b.pem": {Name: "b.pem", Fingerprint: "0B"}}
	ordered := record{Domains: []string{"a"}, Renewal: Renewal{Auto: true, Target: Target{Farm: "web"}}}
	for _, leaf := range []string{"0a01", "0a02", "0a03", "0a04"} {
		if err := m.expect("a.pem", ordered, leaf); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.expect("b.pem", ordered, "0b"); err != nil {
		t.Fatal(err)
	}
	// Changes by an operator during a renewal are kept, except the target used for the
	// order.
	moved := record{Domains: []string{"else"}, Test: true, Renewal: Renewal{Auto: true, Target: Target{Farm: "other"}}}
	if err := m.keep("a.pem", func(r *record) { r.Auto = false; r.merge(moved) }); err != nil {
		t.Fatal(err)
	}
	want := map[string]record{
		"a.pem": {Domains: []string{"a"}, Renewal: Renewal{Target: Target{Farm: "other"}}, Leaves: []string{"0a02", "0a03", "0a04"}},
		"b.pem": {Domains: []string{"a"}, Renewal: ordered.Renewal, Leaves: []string{"0b"}},
	}
	written := func() (out map[string]record) {
		if err := json.Unmarshal([]byte(f.settings[recordsName]), &out); err != nil {
			t.Error(err)
		}
		return out
	}
	if got := written(); !reflect.DeepEqual(got, want) {
		t.Errorf("written down are %+v, want %+v", got, want)
	}
	f.full = errors.New("the disk is full")
	if err := m.keep("a.pem", func(r *record) { r.Leaves = nil }); !errors.Is(err, f.full) || len(m.List()) != 2 {
		t.Errorf("no room: %v, %d are listed", err, len(m.List()))
	}
	f.full = nil
	delete(f.views, "b.pem")
	_, err := m.Get("b")
	wants(t, err, Missing, "the certificate b.pem was deleted")
	f.views["a.pem"] = certs.View{Name: "a.pem", Fingerprint: "CC"}
	if err := m.keep("c.pem", func(r *record) { r.Leaves = []string{"cc"} }); err != nil || !slices.Equal(keys(written()), []string{"c.pem"}) {
		t.Errorf("%v: written down are %v", err, keys(written()))
	}
}

func keys(m map[string]record) (out []string) {
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
