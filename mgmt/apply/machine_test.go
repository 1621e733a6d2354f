package apply_test

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// machine is a Machine that records its calls.
type machine struct {
	refuse   error
	problems map[string]string
	settled  []farm.System
	ended    bool // the last context was cancelled or unbounded
}

func (m *machine) Check(_ context.Context, old, new *farm.System) error {
	if m.refuse != nil && old.NTP != new.NTP {
		return m.refuse
	}
	return nil
}

func (m *machine) Settle(ctx context.Context, s *farm.System) map[string]string {
	_, bounded := ctx.Deadline()
	m.settled, m.ended = append(m.settled, *s), ctx.Err() != nil || !bounded
	return maps.Clone(m.problems)
}

func ntp(server string) func(*farm.Config) error {
	return func(c *farm.Config) error { c.System.NTP.Server = server; return nil }
}

func TestSettingsOfTheMachineArePublishedToNoEngine(t *testing.T) {
	m := &machine{}
	h := newHouse(t, apply.WithMachine(m))
	h.must(add(shop("a", 8080)))
	published := h.pub.Published()
	r := h.must(ntp("ntp.example"))
	if h.pub.Published() != published {
		t.Error("it was published")
	}
	if len(m.settled) != 1 || m.settled[0].NTP.Server != "ntp.example" || m.ended {
		t.Errorf("the machine got %+v", m.settled)
	}
	if r.Revision.Number != 2 || r.Diff != "@@ -1,3 +1,6 @@ system\n+system:\n+  ntp:\n+    server: ntp.example\n farms:\n   - name: a\n     profile: http\n" || len(r.FarmErrors) != 0 {
		t.Errorf("%+v\n%s", r.Revision, r.Diff)
	}
	h.must(add(shop("b", 8082)))
	if h.pub.Published() == published || len(m.settled) != 1 {
		t.Error("a farm was not published, or its change reached the machine")
	}
	back, err := h.Rollback(t.Context(), root, "", 0, 1)
	if err != nil || back.Config.System.NTP.Server != "" || len(m.settled) != 2 || m.settled[1].NTP.Server != "" {
		t.Errorf("rollback: %v %+v", err, m.settled)
	}
}

func TestDocumentWithoutSystemKeepsMachineSettings(t *testing.T) {
	m := &machine{}
	h := newHouse(t, apply.WithMachine(m))
	h.must(ntp("ntp.example"))
	for text, want := range map[string]string{"farms: []": "ntp.example", "system: {}\nfarms: []": ""} {
		cfg, err := document.Load([]byte(text), validate.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := h.Plan(t.Context(), cfg); err != nil || r.Config.System.NTP.Server != want {
			t.Errorf("%q would set %+v: %v", text, r.Config.System.NTP, err)
		}
	}
	cfg, _ := document.Load([]byte("farms: []"), validate.Rules{})
	if r, err := h.Replace(t.Context(), root, "", 0, cfg); err != nil || !r.Unchanged || len(m.settled) != 1 {
		t.Errorf("the machine got %+v: %v", m.settled, err)
	}
}

// Aliases are configuration but do not concern the machine.
func TestAliasesAreStoredWithoutMachineCalls(t *testing.T) {
	m := &machine{}
	h := newHouse(t, apply.WithMachine(m))
	published := h.pub.Published()
	r := h.must(func(c *farm.Config) error {
		c.System.Aliases.Backends = []farm.Alias{{ID: "10.0.0.1", Alias: "db"}}
		return nil
	})
	if r.Revision.Number == 0 || !strings.Contains(r.Diff, `+      - "10.0.0.1=db"`) || len(m.settled) != 0 || h.pub.Published() != published {
		t.Errorf("%+v, the machine got %+v\n%s", r.Revision, m.settled, r.Diff)
	}
}

func TestRefusedMachineSettingsAreNotStored(t *testing.T) {
	m := &machine{refuse: &field.Error{Path: "system ntp", Field: "server", Message: "server is none"}}
	h := newHouse(t, apply.WithMachine(m))
	h.must(add(shop("a", 8080)))
	before := h.moment()
	if _, err := h.Change(t.Context(), root, "", 0, ntp("x")); !errors.Is(err, m.refuse) {
		t.Error(err)
	}
	if _, err := h.Change(apply.DryRun(t.Context()), root, "", 0, ntp("x")); !errors.Is(err, m.refuse) {
		t.Errorf("tried: %v", err)
	}
	if now := h.moment(); now != before || len(m.settled) != 0 {
		t.Errorf("the state is %+v, %d calls to the machine", now, len(m.settled))
	}
	m.refuse = nil
	if _, err := h.Change(apply.DryRun(t.Context()), root, "", 0, ntp("x")); !errors.Is(err, apply.ErrDryRun) || len(m.settled) != 0 {
		t.Errorf("dry run: %v, %d calls to the machine", err, len(m.settled))
	}
}

func TestFailedMachineSettingsWarn(t *testing.T) {
	m, other := &machine{problems: map[string]string{"ntp": "no chrony here"}}, &machine{problems: map[string]string{"ntp": "b", "dns": "c"}}
	h := newHouse(t, apply.WithMachine(m), apply.WithMachine(other))
	if h.Unsettled() != nil {
		t.Error("there are problems before anything was settled")
	}
	gone, cancel := context.WithCancel(t.Context())
	r, err := h.Change(gone, root, "", 0, func(c *farm.Config) error { cancel(); return ntp("x")(c) })
	if err != nil || m.ended {
		t.Fatalf("%v; the machine got a cancelled context: %t", err, m.ended)
	}
	want := []field.Error{{Path: "system dns", Message: "c"}, {Path: "system ntp", Message: "no chrony here; b"}}
	for _, got := range [][]field.Error{r.Warnings, h.Unsettled()} {
		if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%+v", got)
		}
	}
	if cfg, rev := h.Current(); rev.Number != 1 || cfg.System.NTP.Server != "x" {
		t.Error("the change was not kept")
	}
	m.problems, other.problems = nil, nil
	again := h.must(ntp("x"))
	if !again.Unchanged || len(again.Warnings) != 0 || len(h.Unsettled()) != 0 || len(m.settled) != 2 {
		t.Errorf("applied again: %+v, %d calls to the machine", again, len(m.settled))
	}
	if h.must(ntp("x")); len(m.settled) != 2 {
		t.Error("settings in force were applied again")
	}
	if left := h.Settle(t.Context()); len(left) != 0 || len(m.settled) != 3 || m.settled[2].NTP.Server != "x" {
		t.Errorf("at start: %v, %+v", left, m.settled)
	}
}

// slow is a Machine that blocks.
type slow struct{ begun, goOn chan struct{} }

func (slow) Check(context.Context, *farm.System, *farm.System) error { return nil }

func (s slow) Settle(context.Context, *farm.System) map[string]string {
	s.begun <- struct{}{}
	<-s.goOn
	return nil
}

// An engine that reconnects gets its farms even while the machine is busy.
func TestSlowMachineSettingsDelayNoEngine(t *testing.T) {
	s := slow{make(chan struct{}), make(chan struct{})}
	h := newHouse(t, apply.WithMachine(s))
	done := make(chan error)
	go func() {
		_, err := h.Change(context.Background(), root, "", 0, ntp("x"))
		done <- err
	}()
	<-s.begun
	if _, err := h.Republish(t.Context()); err != nil {
		t.Error(err)
	}
	s.goOn <- struct{}{}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A change of farms and of the machine is one change: if the engines refuse it, the machine is
// not called.
func TestMachineGetsOnlyStoredSettings(t *testing.T) {
	m := &machine{}
	h := newHouse(t, apply.WithMachine(m))
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { return apply.Outcome{}, &apply.Refused{Reason: "no"} })
	_, err := h.Change(t.Context(), root, "", 0, func(c *farm.Config) error { _ = ntp("x")(c); return add(shop("a", 8080))(c) })
	if cfg, _ := h.Current(); err == nil || len(m.settled) != 0 || cfg.System.NTP.Server != "" {
		t.Errorf("%v, the machine got %+v", err, m.settled)
	}
}

// vault seals with a word: another word or purpose does not open the seal.
type vault struct{ word string }

func (v vault) SealSecret(purpose string, plain []byte) ([]byte, error) {
	if v.word == "" {
		return nil, errors.New("no key")
	}
	return []byte(v.word + "\x00" + purpose + "\x00" + string(plain)), nil
}

func (v vault) OpenSecret(purpose string, sealed []byte) ([]byte, error) {
	plain, found := strings.CutPrefix(string(sealed), v.word+"\x00"+purpose+"\x00")
	if !found || v.word == "" {
		return nil, errors.New("not ours")
	}
	return []byte(plain), nil
}

func community(secret farm.Secret) func(*farm.Config) error {
	return func(c *farm.Config) error { c.System.SNMP.Community = secret; return nil }
}

func TestSecretsAreKeptSealed(t *testing.T) {
	v := vault{"here"}
	h := newHouse(t, apply.WithSecrets(v))
	r := h.must(community("letmein"))
	kept := r.Config.System.SNMP.Community
	if _, sealed := kept.Sealed(); !sealed || strings.Contains(r.Diff, "letmein") || strings.Contains(r.Diff, string(kept)) || !strings.Contains(r.Diff, "+    community: \"*** (") {
		t.Errorf("kept %s, difference\n%s", kept, r.Diff)
	}
	if plain, err := apply.Reveal(v, "system snmp community", kept); err != nil || plain != "letmein" {
		t.Errorf("got %q %v, want %q", plain, err, "letmein")
	}
	if _, err := apply.Reveal(v, "system proxy http_proxy", kept); err == nil {
		t.Error("it opens for another purpose")
	}
	if plain, err := apply.Reveal(v, "system snmp community", farm.DefaultCommunity); err != nil || plain != "public" {
		t.Errorf("the default: got %q %v, want %q", plain, err, "public")
	}
	if again := h.must(community("letmein")); !again.Unchanged {
		t.Errorf("the same again is a change:\n%s", again.Diff)
	}
	exported, _ := document.Encode(r.Config)
	cfg, err := document.Load(exported, validate.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.Replace(t.Context(), root, "", 0, cfg); err != nil || !again.Unchanged {
		t.Errorf("apply of an export: %v\n%s", err, again.Diff)
	}
	h.must(community("other"))
	if back, err := h.Rollback(t.Context(), root, "", 0, 1); err != nil || back.Config.System.SNMP.Community != kept {
		t.Errorf("rollback: %v", err)
	}
}

func TestForeignSecretsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		options []apply.Option
		secret  farm.Secret
		want    string
	}{
		"sealed elsewhere": {[]apply.Option{apply.WithSecrets(vault{"here"})}, farm.NewSealedSecret("c2VhbGVk"), "system snmp: community was sealed by another appliance, or for something else, and cannot be read here: send the secret itself"},
		"no base64":        {[]apply.Option{apply.WithSecrets(vault{"here"})}, farm.NewSealedSecret("?"), "system snmp: community must be a word"},
		"nothing to seal":  {nil, "letmein", "system snmp: community cannot be kept: there is nothing to seal it with"},
		"no key":           {[]apply.Option{apply.WithSecrets(vault{})}, "letmein", "system snmp: community cannot be sealed: no key"},
	} {
		h := newHouse(t, c.options...)
		if _, err := h.Change(t.Context(), root, "", 0, community(c.secret)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A secret that was sealed with a lost key does not block other changes.
func TestAnOldSecretStopsNoOtherChange(t *testing.T) {
	h := newHouse(t, apply.WithSecrets(vault{"here"}))
	h.must(community("letmein"))
	later := apply.New(h.store, h.pub, apply.WithSecrets(vault{"there"}), apply.WithNames(&h.names))
	if _, err := later.Change(t.Context(), root, "", 0, func(c *farm.Config) error {
		c.System.DNS.Primary = netip.MustParseAddr("192.0.2.53")
		return nil
	}); err != nil {
		t.Error(err)
	}
}
