package acme

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/store"
)

// fakes are the dependencies of a Manager, in memory.
type fakes struct {
	settings  map[string]string
	full      error // the error of writing settings
	views     map[string]certs.View
	authority []byte
	locked    error // the error of sealing
	cfg       farm.Config
	problems  map[uint32]string
	refuse    error // the error of publishing
	farms     []uint32
	log       logtest.Log
}

func (f *fakes) Setting(name string) (string, bool) {
	text, ok := f.settings[name]
	return text, ok
}

func (f *fakes) SetSetting(name, value string) error {
	if f.full == nil {
		f.settings[name] = value
	}
	return f.full
}

func (f *fakes) Get(name string) (certs.View, error) {
	v, ok := f.views[name]
	if !ok {
		return v, certs.ErrNotFound
	}
	return v, nil
}

func (f *fakes) Upload(context.Context, apply.Author, string, []byte, certs.Mode) (certs.View, []string, error) {
	return certs.View{}, nil, errors.New("nothing is uploaded here")
}

func (f *fakes) Delete(_ context.Context, _ apply.Author, name string) error {
	delete(f.views, name)
	return nil
}

func (f *fakes) DownloadAuthority(name string) ([]byte, error) {
	if f.authority == nil {
		return nil, certs.ErrNotFound
	}
	return f.authority, nil
}

func (f *fakes) SealSecret(purpose string, plain []byte) ([]byte, error) {
	return append([]byte(purpose+"|"), plain...), f.locked
}

func (f *fakes) OpenSecret(purpose string, sealed []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, []byte(purpose+"|"))
	if !ok {
		return nil, errors.New("it is sealed for something else")
	}
	return bytes.Clone(plain), nil
}

func (f *fakes) Current() (*farm.Config, store.Revision) { return &f.cfg, store.Revision{} }
func (f *fakes) Problems() map[uint32]string             { return f.problems }

// Renew does the same as apply.Applier, without an engine.
func (f *fakes) Renew(_ context.Context, prepare func(*farm.Config) (apply.Renewal, error)) error {
	r, err := prepare(&f.cfg)
	if err != nil {
		return err
	}
	f.farms = r.Farms
	if r.Swap(); f.refuse != nil {
		r.Undo()
		return f.refuse
	}
	return r.Keep()
}

func newFakes(edit func(f *fakes, o *Options)) (*Manager, *fakes) {
	f := &fakes{settings: map[string]string{}, views: map[string]certs.View{}}
	o := Options{Store: f, Certificates: f, Applier: f, Responder: &Responder{}, Log: slog.New(slog.NewTextHandler(&f.log, nil)), Now: func() time.Time { return noon }}
	if edit != nil {
		edit(f, &o)
	}
	return New(o), f
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// wants fails unless err is an Error of that kind with part in its text.
func wants(t *testing.T, err error, kind Kind, part string) {
	t.Helper()
	var known *Error
	if !errors.As(err, &known) || known.Kind != kind || !strings.Contains(known.Message, part) {
		t.Errorf("got %v, want kind %d with %q", err, kind, part)
	}
}
