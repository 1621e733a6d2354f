package api_test

import (
	"strings"
	"testing"
	"time"
)

// What becomes of the keys of a zone by itself is shown with them, where they have a lifetime.
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
