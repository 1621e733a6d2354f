package certs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Data sealed by another node is readable once its key is present. New data is sealed with
// the local key.
func TestKeysOfOtherNodesOpenTheirData(t *testing.T) {
	there, here := newHouse(t), newHouse(t)
	there.upload("shop", there.root.Issue("shop.example").FullPEM(), certs.Create)
	secret, err := there.SealSecret("mail", []byte("word"))
	there.must(err)
	if _, err := here.OpenSecret("mail", secret); err == nil || !strings.Contains(err.Error(), "another node key") {
		t.Fatal(err)
	}
	keys, err := there.NodeKeys()
	there.must(err)
	if len(keys) != 1 || here.KnowsNodeKey(certs.NodeKeyID(keys[0])) || !there.KnowsNodeKey(certs.NodeKeyID(keys[0])) || here.KnowsNodeKey("") || here.KnowsNodeKey("zz") {
		t.Fatalf("%d keys", len(keys))
	}
	if _, err := here.AddNodeKey(keys[0][:31]); err == nil {
		t.Error("half a key is accepted")
	}
	if _, err := here.TrustNodeKey(keys[0][:31]); err == nil {
		t.Error("half a key is trusted")
	}
	path := filepath.Join(here.dir, "node-"+certs.NodeKeyID(keys[0])+".key")
	here.must(os.WriteFile(path, []byte("another file"), 0o600))
	if here.KnowsNodeKey(certs.NodeKeyID(keys[0])) {
		t.Error("a file of that name is that key")
	}
	trusted := func(want bool) {
		t.Helper()
		_, err := here.OpenSecret("mail", secret)
		if known := here.KnowsNodeKey(certs.NodeKeyID(keys[0])); known != want || (err == nil) != want {
			t.Errorf("the key is known: %v, %v", known, err)
		}
	}
	forget, err := here.TrustNodeKey(keys[0])
	here.must(err)
	again, err := here.TrustNodeKey(keys[0])
	here.must(err)
	again()
	trusted(true)
	forget()
	trusted(false)
	undo, err := here.AddNodeKey(keys[0])
	here.must(err)
	here.must(undo())
	here.open()
	trusted(false)
	_, err = here.AddNodeKey(keys[0])
	here.must(err)
	undo, err = here.AddNodeKey(keys[0])
	here.must(err)
	here.must(undo()) // it was there before
	trusted(true)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	here.open() // as after a restart
	if plain, err := here.OpenSecret("mail", secret); err != nil || string(plain) != "word" {
		t.Errorf("%q, %v", plain, err)
	}
	all, err := there.store.Certificates()
	there.must(err)
	here.must(here.store.ChangeCertificates(all))
	here.open()
	if v := here.List()[0]; v.Problem != "" {
		t.Errorf("%+v", v)
	}
	own, err := here.NodeKeys()
	here.must(err)
	if len(own) != 2 || bytes.Equal(own[0], keys[0]) || !bytes.Equal(own[1], keys[0]) {
		t.Errorf("%d keys", len(own))
	}
	sealed, err := here.SealSecret("mail", []byte("word"))
	here.must(err)
	if _, err := there.OpenSecret("mail", sealed); err == nil {
		t.Error("it was sealed with the key of the other node")
	}
	here.must(os.Chmod(path, 0o644))
	if _, err := here.NodeKeys(); err == nil {
		t.Error("a key file that others can read is used")
	}
}

func TestReplacedCertificatesCanBeRestored(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	h.upload("old", h.root.Issue("old.example").FullPEM(), certs.Create)
	other.upload("new", other.root.Issue("new.example").FullPEM(), certs.Create)
	_, _, err := other.UploadAuthority(t.Context(), by, "list", []byte(other.root.CertPEM()), certs.Create)
	other.must(err)
	all, err := other.store.Certificates()
	other.must(err)
	lists, err := other.store.Authorities()
	other.must(err)
	names := func() string {
		var out []string
		for _, v := range h.List() {
			out = append(out, v.Name)
		}
		for _, v := range h.Authorities() {
			out = append(out, v.Name)
		}
		return strings.Join(out, " ")
	}
	swap, undo := h.Exchange(append(all, store.Certificate{Name: certs.ApplianceName}), lists)
	undo()
	h.upload("late", h.root.Issue("late.example").FullPEM(), certs.Create)
	for range 2 {
		swap()
		swap()
		if got := names(); got != "new.pem list" {
			t.Errorf("after the exchange: got %q, want %q", got, "new.pem list")
		}
		undo()
		undo()
		if got := names(); got != "late.pem old.pem" {
			t.Errorf("afterwards: got %q, want %q", got, "late.pem old.pem")
		}
	}
}
