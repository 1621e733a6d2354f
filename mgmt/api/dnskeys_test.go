package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// If the keys of a zone have a lifetime, their next automatic steps are shown.
func TestKeysSayWhatBecomesOfThem(t *testing.T) {
	a := zoned(t)
	keys := zone + "/keys"
	a.must(200, "PUT", zone, `{"dnssec":"ed25519"}`).want(t, "params.dnssec", "ed25519")
	if next := a.must(200, "GET", keys, "").at("params.0.next"); next != nil {
		t.Errorf("without a lifetime: %v", next)
	}
	a.do("PUT", zone, `{"key_lifetime":3651}`).refused(t, 400, "key_lifetime must be")
	a.must(200, "PUT", zone, `{"key_lifetime":90}`)
	a.must(200, "GET", zone, "").want(t, "params.key_lifetime", 90.0)
	says := func(key, what string) {
		t.Helper()
		if next, _ := a.must(200, "GET", keys, "").at("params." + key + ".next").(string); !strings.Contains(next, what) {
			t.Errorf("key %s: %q, want %q", key, next, what)
		}
	}
	since, err := time.Parse(time.RFC3339, a.must(200, "GET", keys, "").at("params.0.since").(string))
	if err != nil {
		t.Fatal(err)
	}
	says("0", "The next key is made at "+since.AddDate(0, 0, 90).Format(time.RFC3339))
	a.must(201, "POST", keys, "")
	says("0", "It retires once the next key signs.")
	says("1", "It signs some time after the parent zone has its DS record, at ")

	document := a.must(200, "GET", "/config", "").raw
	published := strings.Replace(document, "state: published\n", "state: published\n            ds_seen: 1700000000\n", 1)
	if published == document {
		t.Fatal(document)
	}
	a.must(200, "PUT", "/config", published, "Content-Type", "application/yaml")
	says("1", "It signs once nobody keeps the DS records of before any more.")
	a.must(200, "GET", keys, "").want(t, "params.1.ds_seen", "2023-11-14T22:13:20Z")
}

// While the parent zone has a DS record, no kind of change can end the signing of a zone,
// unless it is forced.
func TestASignedZoneIsKeptWhileTheParentZoneNamesItsKey(t *testing.T) {
	a := zoned(t)
	before := a.must(200, "GET", "/config", "").raw
	_, now := a.applier.Current()
	a.must(200, "PUT", zone, `{"dnssec":"ed25519"}`)
	a.engine.ds = []string{a.must(200, "GET", zone+"/keys", "").at("params.0.ds").(string)}
	rollback := fmt.Sprintf(`{"revision":%d}`, now.Number)
	for _, c := range [][]string{
		{"PUT", zone, `{"dnssec":"off"}`}, {"PUT", zone, `{"dnssec":null}`}, {"DELETE", zone, ""}, {"DELETE", "/farms/names", ""},
		{"PUT", "/config", before, "Content-Type", "application/yaml"}, {"PUT", "/config", "farms: []\n", "Content-Type", "application/yaml"},
		{"POST", "/history/rollback", rollback},
		{"POST", "/transactions", `{"writes":[{"method":"DELETE","path":"/farms/names"}]}`},
	} {
		for _, dry := range []string{"", "dry_run=true&"} {
			r := a.do(c[0], c[1]+"?"+strings.TrimSuffix(dry, "&"), c[2], c[3:]...)
			r.refused(t, 400, "the parent zone com has a DS record", "force=true")
			r.want(t, "code", "force")
		}
		a.must(200, c[0], c[1]+"?dry_run=true&force=true", c[2], c[3:]...)
		a.do(c[0], c[1]+"?force=1", c[2], c[3:]...).refused(t, 400, "force")
	}
	a.must(200, "PUT", zone, `{"ttl":60}`)
	a.must(200, "PUT", zone+"?force=true", `{"dnssec":"off"}`)
	a.must(200, "DELETE", zone, "")
}

// If the parent zone cannot be queried, every response to a change that may make resolvers
// reject the zone warns of it.
func TestAChangeWarnsIfTheParentZoneCannotBeQueried(t *testing.T) {
	a := zoned(t)
	before := a.must(200, "GET", "/config", "").raw
	a.engine.dsFails = errors.New("no server answers")
	for _, c := range [][]string{
		{"PUT", zone, `{"dnssec":"off"}`}, {"DELETE", zone, ""}, {"DELETE", "/farms/names", ""}, {"PUT", "/config", before, "Content-Type", "application/yaml"},
		{"POST", "/history/rollback", ""}, {"POST", "/transactions", `{"writes":[{"method":"DELETE","path":"/farms/names"}]}`},
	} {
		a.must(200, "PUT", "/config?force=true", before, "Content-Type", "application/yaml")
		_, now := a.applier.Current()
		a.must(200, "PUT", zone, `{"dnssec":"ed25519"}`)
		if c[2] == "" && c[0] == "POST" {
			c[2] = fmt.Sprintf(`{"revision":%d}`, now.Number)
		}
		r := a.must(200, c[0], c[1], c[2], c[3:]...)
		if !strings.Contains(r.raw, "could not be asked for DS records: no server answers") {
			t.Errorf("%s %s: %s", c[0], c[1], r.raw)
		}
	}
}

// A zone that is not signed keeps its keys until they are deleted. Afterwards it gets a new one,
// also within a transaction. This is the remedy for a key that cannot be read here.
func TestTheLastKeyOfAZoneIsDeleted(t *testing.T) {
	a := zoned(t)
	keys := zone + "/keys"
	id := func() string {
		t.Helper()
		list := itemsOf(a.must(200, "GET", keys, ""))
		if len(list) != 1 {
			t.Fatalf("%d keys", len(list))
		}
		return fmt.Sprint(list[0]["id"])
	}
	a.must(200, "PUT", zone, `{"dnssec":"ed25519"}`)
	first := id()
	a.do("DELETE", keys+"/"+first, "").refused(t, 400, "set dnssec to off")
	a.must(200, "PUT", zone, `{"dnssec":"off"}`)
	if got := id(); got != first {
		t.Errorf("without a signature the key is %s, was %s", got, first)
	}
	a.must(200, "DELETE", keys+"/"+first, "")
	if list := itemsOf(a.must(200, "GET", keys, "")); len(list) > 0 {
		t.Fatalf("after the deletion: %v", list)
	}
	a.must(200, "PUT", zone, `{"ttl":60}`)
	if list := itemsOf(a.must(200, "GET", keys, "")); len(list) > 0 {
		t.Errorf("after another change: %v", list)
	}
	a.do("DELETE", keys+"/"+first, "").refused(t, 404, first)
	a.must(200, "PUT", zone, `{"dnssec":"ecdsap256sha256"}`)
	second := id()
	if second == first {
		t.Error("the deleted key is used again")
	}
	write := func(method, path, body string) string {
		return fmt.Sprintf(`{"method":%q,"path":%q,"body":%s}`, method, path, body)
	}
	a.must(200, "POST", "/transactions?force=true", `{"writes":[`+strings.Join([]string{
		write("PUT", zone, `{"dnssec":"off"}`), fmt.Sprintf(`{"method":"DELETE","path":%q}`, keys+"/"+second),
		write("PUT", zone, `{"ttl":120}`), write("PUT", zone, `{"dnssec":"ecdsap256sha256"}`),
	}, ",")+`]}`)
	if third := id(); third == second {
		t.Error("a transaction keeps the deleted key")
	}
}
