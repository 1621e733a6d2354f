package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sluicelb/sluice/mgmt/store"
)

func TestAKeyIsFoundByItsSecretAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	first, a, err := s.CreateKey("root", "laptop")
	if err != nil {
		t.Fatal(err)
	}
	second, b, err := s.CreateKey("root", "")
	if err != nil || first == second || a.ID == b.ID {
		t.Fatalf("%v, %+v %+v", err, a, b)
	}
	if !regexp.MustCompile(`^[a-zA-Z0-9]{40}$`).MatchString(first) {
		t.Errorf("key %q", first)
	}
	s.Close()
	s = open(t, dir)
	if k, ok := s.FindKey(first); !ok || k != a || k.User != "root" || k.Comment != "laptop" {
		t.Errorf("got %+v %v, want %+v", k, ok, a)
	}
	for _, wrong := range []string{"", "x", first[1:], first + "x", first[:len(first)-1] + "-"} {
		if k, ok := s.FindKey(wrong); ok {
			t.Errorf("%q is key %+v", wrong, k)
		}
	}
	if keys := s.Keys(); len(keys) != 2 || keys[0] != a || keys[1] != b {
		t.Errorf("keys %+v", keys)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, store.FileName)); err != nil || bytes.Contains(raw, []byte(first)) {
		t.Errorf("the file holds the key itself (%v)", err)
	}
}

func TestADeletedKeyIsUselessAtOnceAndItsNumberIsNotReused(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, 1)
	secret, key, err := s.CreateKey("root", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteKey(key.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.FindKey(secret); ok {
		t.Error("the key still works")
	}
	if err := s.DeleteKey(key.ID); !errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDiskFailed) {
		t.Errorf("deleting it again: %v", err)
	}
	if _, next, err := s.CreateKey("root", ""); err != nil || next.ID == key.ID {
		t.Errorf("the number was used again: %+v %v", next, err)
	}
	s.Close()
	if secret, key, err := s.CreateKey("root", ""); err == nil || secret != "" || key.ID != 0 {
		t.Errorf("a closed store made key %+v, %v", key, err)
	}
}

func TestSettingsAreKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if v, ok := s.Setting("zapikey"); ok || v != "" {
		t.Errorf("an unset setting is %q", v)
	}
	commit(t, s, 1)
	if err := s.SetSetting("", "true"); err == nil || errors.Is(err, store.ErrDiskFailed) {
		t.Errorf("a setting without a name: %v", err)
	}
	for _, v := range []string{"true", ""} {
		if err := s.SetSetting("zapikey", v); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = open(t, dir)
		if got, ok := s.Setting("zapikey"); !ok || got != v {
			t.Errorf("got %q %v, want %q", got, ok, v)
		}
	}
}

// Records that became unreadable must not keep a deleted key valid, or hide the secret of a new one.
func TestKeysChangeNextToUnreadableOnes(t *testing.T) {
	s := open(t, t.TempDir())
	var secrets [2]string
	var ids [2]uint64
	for i := range secrets {
		secret, key, err := s.CreateKey("root", "")
		if err != nil {
			t.Fatal(err)
		}
		secrets[i], ids[i] = secret, key.ID
	}
	store.Spoil(t, s)
	if err := s.DeleteKey(ids[0]); err != nil {
		t.Errorf("a key cannot be deleted: %v", err)
	}
	if _, found := s.FindKey(secrets[0]); found {
		t.Error("a deleted key is valid")
	}
	secret, key, err := s.CreateKey("root", "")
	if err != nil {
		t.Fatalf("no key can be created: %v", err)
	}
	for what, secret := range map[string]string{"another": secrets[1], "a new": secret} {
		if _, found := s.FindKey(secret); !found {
			t.Errorf("%s key is not valid", what)
		}
	}
	if keys := s.Keys(); len(keys) != 2 || keys[0].ID != ids[1] || keys[1] != key {
		t.Errorf("%+v", keys)
	}
}
