package certs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/certs"
)

func TestNodeKeyIsCreatedOnceAndPrivate(t *testing.T) {
	h := newHouse(t)
	path := filepath.Join(h.dir, certs.NodeKeyFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Fatalf("%v %v", info, err)
	}
	first, _ := os.ReadFile(path)
	h.open()
	if strings.Contains(h.log.String(), "level=ERROR") {
		t.Errorf("log:\n%s", h.log)
	}
	if second, _ := os.ReadFile(path); !bytes.Equal(first, second) || bytes.Equal(first, make([]byte, 32)) {
		t.Error("the key changed, or is none")
	}
	left, _ := filepath.Glob(filepath.Join(h.dir, ".node*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if other := newHouse(t); true {
		if second, _ := os.ReadFile(filepath.Join(other.dir, certs.NodeKeyFile)); bytes.Equal(first, second) {
			t.Error("two nodes have the same key")
		}
	}
}

// With an unusable node key, each certificate reports the problem and the remedy, plain
// farms keep running, and the right key restores everything.
func TestUnusableNodeKeyAffectsOnlyCertificates(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(path string) error
		says  string
	}{
		"another one":  {func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte{7}, 32), 0o600) }, "another node key"},
		"lost":         {os.Remove, "another node key"}, // a new one is created
		"readable":     {func(p string) error { return os.Chmod(p, 0o644) }, "(mode 0644): chmod 600"},
		"writable":     {func(p string) error { return os.Chmod(p, 0o660) }, "chmod 600"},
		"short":        {func(p string) error { return os.Truncate(p, 31) }, "does not have 32 bytes"},
		"long":         {func(p string) error { return os.Truncate(p, 64) }, "does not have 32 bytes"},
		"a directory":  {func(p string) error { return replaced(p, func() error { return os.Mkdir(p, 0o700) }) }, "is no file"},
		"link":         {func(p string) error { return replaced(p, func() error { return os.Symlink("/dev/zero", p) }) }, "cannot be read"},
		"without name": {func(p string) error { return replaced(p, func() error { return os.Symlink("nowhere", p) }) }, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
			_, err := h.Request(t.Context(), by, "new", fields())
			h.must(err)
			h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
			h.must(h.change(func(cfg *farm.Config) error {
				plain := cfg.Farms[0].Clone()
				plain.Name, plain.VPort, plain.HTTP.TLS = "plain", 80, nil
				cfg.Farms = append(cfg.Farms, plain)
				return nil
			}))
			path := filepath.Join(h.dir, certs.NodeKeyFile)
			right, err := os.ReadFile(path)
			h.must(err)
			h.must(c.spoil(path))
			h.open()
			for _, v := range h.List() {
				if v.Status != certs.StatusInvalid || !strings.Contains(v.Problem, c.says) || v.CN == "" {
					t.Errorf("%s is %s: %s", v.Name, v.Status, v.Problem)
				}
			}
			csr, err := h.Download("new.csr")
			h.must(err)
			if _, _, err := h.Upload(t.Context(), by, "live", []byte(h.root.Sign(csr)), certs.Create); err == nil || !strings.Contains(err.Error(), "the key of new.csr is needed: ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("a CSR was completed without its key: %v", err)
			}
			if h.Exists("shop.pem") {
				t.Error("a farm can use a certificate without its key")
			}
			if !h.farm("shop").Stopped || h.farm("plain").Stopped || h.inForce("shop.pem") != nil {
				t.Error("the https farm runs, or the other one does not")
			}
			if problems := h.applier.Problems(); len(problems) != 1 || !strings.Contains(problems[1], `certificate "shop.pem" cannot be used`) {
				t.Errorf("problems %v", problems)
			}
			if log := h.log.String(); !strings.Contains(log, "level=ERROR") || strings.Contains(log, "a new one was made") != (name == "lost") {
				t.Errorf("the loss was not logged:\n%s", log)
			}
			h.must(h.change(func(cfg *farm.Config) error { cfg.Farms[1].HTTP.ConnectTimeout = 7; return nil })) // other changes still work
			h.must(os.RemoveAll(path))
			h.must(os.WriteFile(path, right, 0o600))
			h.open()
			if v, _ := h.Get("shop.pem"); v.Status != certs.StatusValid || h.farm("shop").Stopped || h.inForce("shop.pem") == nil {
				t.Errorf("with the right key: %s: %s", v.Status, v.Problem)
			}
		})
	}
}

func replaced(path string, by func() error) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return by()
}

// Correcting the file's mode requires no restart.
func TestRepairedNodeKeyNeedsNoRestart(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
	path := filepath.Join(h.dir, certs.NodeKeyFile)
	h.must(os.Chmod(path, 0o640))
	h.open()
	if _, _, err := h.Upload(t.Context(), by, "new", []byte(h.root.Issue("new.example").FullPEM()), certs.Create); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("an upload without a node key: %v", err)
	}
	if _, err := h.Request(t.Context(), by, "new", fields()); err == nil || !strings.Contains(err.Error(), "the private key cannot be kept: ") {
		t.Errorf("a CSR without a node key: %v", err)
	}
	h.Look(t.Context())
	if !h.farm("shop").Stopped {
		t.Fatal("the farm runs without its certificate")
	}
	h.must(os.Rename(path, path+".gone"))
	if _, err := h.SealSecret("x", nil); err == nil || !strings.Contains(err.Error(), "is missing: put the file back") {
		t.Errorf("without the file: %v", err)
	}
	h.must(os.Rename(path+".gone", path))
	h.must(os.Chmod(path, 0o600))
	h.refusing("busy")
	h.Look(t.Context())
	h.refusing("") // a retry
	h.Look(t.Context())
	if h.farm("shop").Stopped || h.inForce("shop.pem") == nil || len(h.applier.Problems()) != 0 {
		t.Errorf("the farm does not run: %v", h.applier.Problems())
	}
	published := h.pub.Published()
	h.Look(t.Context())
	if h.pub.Published() != published {
		t.Error("published again without need")
	}
}

func TestASecretIsReadForItsPurposeOnly(t *testing.T) {
	h := newHouse(t)
	plain := []byte("the key of an account")
	sealed, err := h.SealSecret("account", plain)
	if err != nil || bytes.Contains(sealed, plain[:8]) {
		t.Fatalf("%q, %v", sealed, err)
	}
	h.open()
	if again, err := h.OpenSecret("account", sealed); err != nil || !bytes.Equal(again, plain) {
		t.Errorf("got %q, %v, want %q", again, err, plain)
	}
	for what, c := range map[string]struct {
		purpose string
		sealed  []byte
	}{
		"another purpose": {"other", sealed}, "a certificate's name": {"", sealed}, "nothing": {"account", nil}, "a part": {"account", sealed[:20]},
		"another version": {"account", append([]byte{2}, sealed[1:]...)}, "a flipped bit": {"account", append(bytes.Clone(sealed[:len(sealed)-1]), sealed[len(sealed)-1]^1)},
	} {
		if again, err := h.OpenSecret(c.purpose, c.sealed); err == nil || !strings.Contains(err.Error(), "the secret for "+c.purpose+" cannot be read") {
			t.Errorf("%s: %q, %v", what, again, err)
		}
	}
}

func TestASealedKeyFitsItsNameOnly(t *testing.T) {
	h := newHouse(t)
	a := h.root.Issue("a.example")
	h.upload("a", a.FullPEM(), certs.Create)
	h.upload("b", h.root.Issue("b.example").FullPEM(), certs.Create)
	all, err := h.store.Certificates()
	h.must(err)
	// The layout of earlier releases: version, key ID, nonce, ciphertext with tag.
	if sealed := all[0].Key; sealed[0] != 1 || len(sealed) != 1+8+12+len(a.KeyDER())+16 || !bytes.Equal(sealed[:9], all[1].Key[:9]) || bytes.Equal(sealed[9:21], all[1].Key[9:21]) {
		t.Errorf("sealed: %x", sealed)
	}
	all[0].Key, all[1].Key = all[1].Key, all[0].Key
	h.must(h.store.ChangeCertificates(all))
	h.open()
	for _, v := range h.List() {
		if v.Status != certs.StatusInvalid || !strings.Contains(v.Problem, "damaged") {
			t.Errorf("%s: %s %s", v.Name, v.Status, v.Problem)
		}
	}
	all[0].Key, all[0].Chain, all[1].Chain = nil, nil, [][]byte{{1, 2}}
	h.must(h.store.ChangeCertificates(all))
	h.open()
	for _, v := range h.List() {
		if v.Status != certs.StatusInvalid || v.Problem == "" {
			t.Errorf("%s: %s %s", v.Name, v.Status, v.Problem)
		}
		if _, err := h.Describe(v.Name); err != nil {
			t.Error(err)
		}
	}
}
