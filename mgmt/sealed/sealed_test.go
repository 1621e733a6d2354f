package sealed_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/mgmt/sealed"
)

type settings struct {
	Host   string `json:"host"`
	Secret []byte `json:"secret,omitempty"`
}

func newDocument(m *rbactest.Memory, purpose string) *sealed.Document[settings] {
	return &sealed.Document[settings]{Keeper: m, Sealer: rbactest.Sealer{}, Name: "it", Purpose: purpose}
}

func TestDocumentStoresTheSecretSealed(t *testing.T) {
	m := &rbactest.Memory{}
	d := newDocument(m, "a purpose")
	if got, err := d.Read(); err != nil || got.Host != "" || got.Secret != nil {
		t.Errorf("nothing is stored: got %+v, %v", got, err)
	}
	err := d.Change(func(s *settings) (err error) {
		s.Host = "a.test"
		s.Secret, err = d.Seal("hidden")
		return err
	})
	got, _ := d.Read()
	if err != nil || got.Host != "a.test" || strings.Contains(string(m.Kept["it"]), "hidden") {
		t.Fatalf("got %s, %v", m.Kept["it"], err)
	}
	if plain, err := d.Open(got.Secret); err != nil || string(plain) != "hidden" {
		t.Errorf("got %q, %v", plain, err)
	}
	if _, err := newDocument(m, "another purpose").Open(got.Secret); err == nil {
		t.Error("a document of another purpose opens the secret")
	}
}

func TestChangeThatFailsStoresNothing(t *testing.T) {
	m, failed := &rbactest.Memory{}, errors.New("refused")
	d := newDocument(m, "a purpose")
	edit := func(s *settings) error { s.Host = "a.test"; return nil }
	if err := d.Change(func(s *settings) error { _ = edit(s); return failed }); err != failed || len(m.Kept) != 0 {
		t.Errorf("got %v, stored %v", err, m.Kept)
	}
	m.Full = true
	if err := d.Change(edit); err == nil {
		t.Error("a full disk is not reported")
	}
	m.Full, m.Kept = false, map[string][]byte{"it": []byte("no JSON")}
	if err := d.Change(edit); err == nil || string(m.Kept["it"]) != "no JSON" {
		t.Errorf("a document that cannot be read is replaced: %v", err)
	}
}
