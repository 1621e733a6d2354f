package backup_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

var (
	root = apply.Author{Name: "root", Source: "cli"}
	now  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// house is a node.
type house struct {
	*backup.Keeper
	t       *testing.T
	dir     string
	version string
	store   *store.Store
	certs   *certs.Manager
	users   *rbac.Book
	applier *apply.Applier
	places  *geoip.Store
	options backup.Options
	pub     *applytest.Publisher
	log     *logtest.Log
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), version: "1.0", log: &logtest.Log{}}
	h.must(os.Mkdir(filepath.Join(h.dir, hook.Folder), 0o700))
	h.open()
	t.Cleanup(func() { h.store.Close() })
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// open starts or restarts the node, like a new process.
func (h *house) open() {
	h.t.Helper()
	if h.store != nil {
		h.must(h.store.Close())
	}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	var err error
	h.store, err = store.Open(h.dir)
	h.must(err)
	book, err := certs.Open(h.store, certs.Options{Dir: h.dir, Now: func() time.Time { return now }})
	h.must(err)
	h.users, err = rbac.NewBook(h.store)
	h.must(err)
	h.users.Cost = rbactest.Cheap
	h.pub = &applytest.Publisher{}
	h.pub.Answer(func(cfg *farm.Config) (apply.Outcome, error) {
		_, problems := book.Complete(cfg)
		return apply.Outcome{FarmErrors: problems}, nil
	})
	h.applier = apply.New(h.store, h.pub, apply.WithRules(validate.Rules{}), apply.WithReferences(book))
	_, err = h.applier.Republish(context.Background())
	h.must(err)
	h.certs = certs.NewManager(book, h.applier)
	h.places, err = geoip.Open(h.dir, func() {})
	h.must(err)
	h.options = backup.Options{Dir: h.dir, Store: h.store, Applier: h.applier, Certificates: book, Places: h.places, NodeKeyID: certs.NodeKeyID,
		OnlyRoot: rbac.OnlyRoot, Renumbered: rbac.Renumbered, Restarts: true, Version: h.version, Log: log,
		Now: func() time.Time { return now }}
	h.Keeper = backup.New(h.options)
	h.Finish()
}

// fill creates one object of each kind on the node.
func (h *house) fill() (key string) {
	h.t.Helper()
	pem := certstest.NewAuthority(h.t, "root", now).Issue("shop.example")
	_, _, err := h.certs.Upload(h.t.Context(), root, "shop", []byte(pem.FullPEM()), certs.Create)
	h.must(err)
	_, _, err = h.certs.UploadAuthority(h.t.Context(), root, "clients", []byte(certstest.NewAuthority(h.t, "clients", now).CertPEM()), certs.Create)
	h.must(err)
	h.must(h.farm("shop", 8443))
	h.must(h.store.SetSetting("acme.settings", "kept"))
	h.must(h.store.SetSetting("api_names", "one.example"))
	h.must(h.store.WriteDocument("mail", map[string]string{"server": "mail.example"}))
	mine := strings.Repeat("k", 40)
	h.must(h.users.ChangeUser(rbac.Root, rbac.UserChange{Key: &mine}))
	h.must(h.users.AddUser("anna", rbac.Local, "correct horse 1"))
	h.must(h.users.AddGroup("shops"))
	cfg, _ := h.applier.Current()
	h.must(h.users.AddFarm("shops", cfg.Farm("shop").ID))
	key, _, err = h.store.CreateKey("anna", "")
	h.must(err)
	h.must(os.WriteFile(filepath.Join(h.dir, hook.Folder, "on-any"), []byte("#!/bin/sh\n"), 0o700))
	h.must(os.MkdirAll(filepath.Join(h.dir, hook.Plugins), 0o700))
	h.must(os.WriteFile(filepath.Join(h.dir, hook.Plugins, "check_own"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	return key
}

// farm adds an https farm with the certificate shop.pem.
func (h *house) farm(name string, port uint16) error {
	_, err := h.applier.Change(h.t.Context(), root, "", 0, func(cfg *farm.Config) error {
		d := farm.DefaultHTTP()
		d.TLS = farm.DefaultTLS()
		d.TLS.Certificates = []string{"shop.pem"}
		d.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "127.0.0.1", Port: 8081}}}}
		cfg.Farms = append(cfg.Farms, farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: port, HTTP: d})
		if name == "second" {
			cfg.System.NTP.Server = "ntp.example" // so a backup has no machine settings
		}
		return nil
	})
	return err
}

// farmless uses up farm IDs.
func (h *house) farmless() error {
	for _, farms := range [][]farm.Farm{{{Name: "x", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 1234, HTTP: farm.DefaultHTTP()}}, nil} {
		if _, err := h.applier.Change(h.t.Context(), root, "", 0, func(cfg *farm.Config) error { cfg.Farms = farms; return nil }); err != nil {
			return err
		}
	}
	return nil
}

// state is everything that a rejected restoration must not change.
type state struct {
	config   string
	revision uint64
	contents store.Contents
	inForce  string
	hooks    string
	names    []string
}

func (h *house) state() state {
	h.t.Helper()
	cfg, rev, contents, err := h.store.Whole()
	h.must(err)
	text, err := document.Encode(cfg)
	h.must(err)
	s := state{config: string(text), revision: rev.Number, contents: contents}
	if in := h.pub.InForce(); in != nil {
		text, err = document.Encode(in)
		h.must(err)
		s.inForce = string(text)
	}
	for _, folder := range []string{hook.Folder, hook.Plugins} {
		entries, _ := os.ReadDir(filepath.Join(h.dir, folder))
		for _, e := range entries {
			b, _ := os.ReadFile(filepath.Join(h.dir, folder, e.Name()))
			s.hooks += folder + "/" + e.Name() + ": " + string(b)
		}
	}
	for _, v := range h.certs.List() {
		s.names = append(s.names, v.Name+" "+v.Problem)
	}
	return s
}

// bytes returns an archive as stored on disk.
func (h *house) bytes(name string) []byte {
	h.t.Helper()
	f, size, err := h.Open(name)
	h.must(err)
	defer f.Close()
	b, err := io.ReadAll(f)
	h.must(err)
	if int64(len(b)) != size {
		h.t.Errorf("%d bytes, want %d", len(b), size)
	}
	return b
}

func (h *house) wants(err error, part string) {
	h.t.Helper()
	var known *backup.Error
	if err == nil || !strings.Contains(err.Error(), part) || !errors.As(err, &known) && !errors.Is(err, backup.ErrNone) && !errors.Is(err, backup.ErrExists) && !errors.Is(err, backup.ErrFull) {
		h.t.Errorf("got %v, want %q", err, part)
	}
}

// document returns the stored value of a document.
func (s state) document(name string) string {
	for _, d := range s.contents.Documents {
		if d.Name == name {
			return string(d.Value)
		}
	}
	return ""
}

func (s state) setting(name string) string {
	for _, v := range s.contents.Settings {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}
