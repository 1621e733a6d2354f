package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/store"
)

// noFollow rejects symbolic links.
const noFollow = syscall.O_NOFOLLOW

// Store is the store to back up; *store.Store implements it.
type Store interface {
	Current() (*farm.Config, store.Revision)
	Whole() (*farm.Config, store.Revision, store.Contents, error)
	Restore(cfg *farm.Config, meta store.Meta, r store.Replacement) (store.Revision, error)
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// Applier is the only writer of the configuration; *apply.Applier implements it.
type Applier interface {
	Restore(ctx context.Context, by apply.Author, comment string, r apply.Restoration) (apply.Result, error)
}

// Certificates manages the certificates and node keys; *certs.Book implements it.
type Certificates interface {
	Exchange([]store.Certificate, []store.Authority) (swap, undo func())
	NodeKeys() ([][]byte, error)
	KnowsNodeKey(id string) bool
	TrustNodeKey(key []byte) (forget func(), err error)
	AddNodeKey(key []byte) (undo func() error, err error)
}

// Places is the GeoIP database; *geoip.Store implements it.
type Places interface {
	// Saved returns nil if there is no database.
	Saved() ([]byte, error)
	Restore(saved []byte) error
	Remove() error
}

// Options are the parameters of a Keeper. Store, Applier, Certificates and NodeKeyID must
// be set.
type Options struct {
	Dir          string // the data directory; "" means the working directory
	Store        Store
	Applier      Applier
	Certificates Certificates
	Places       Places // nil: no database is saved or restored
	// NodeKeyID returns the ID of a node key; certs.NodeKeyID.
	NodeKeyID func(key []byte) string
	// OnlyRoot and Renumbered transform the document of users, groups and roles; mgmt/rbac
	// implements them.
	OnlyRoot   func(kept []byte) ([]byte, error)
	Renumbered func(kept []byte, number func(farm uint32) (uint32, bool)) ([]byte, error)
	// Restarts means that the process is restarted after a restoration. Until then the store refuses
	// to write outdated data.
	Restarts bool
	Version  string // of the program
	Log      *slog.Logger
	Now      func() time.Time
}

// Keeper creates, stores and restores archives. Use New to make one. Any goroutine may call
// its methods; those that read or write whole archives are serialised.
type Keeper struct {
	options Options
	folder  folder
	busy    sync.Mutex
	uploads sync.Mutex // serialises uploads
}

// New returns a Keeper. It completes an interrupted restoration of an earlier one, and removes
// its leftovers.
func New(o Options) *Keeper {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keeper{options: o, folder: folder{filepath.Join(o.Dir, Folder)}}
	_, current := o.Store.Current()
	if err := k.folder.finishBefore(current.Number); err != nil {
		o.Log.Error("the backup of the state before an earlier restoration keeps a hidden name", "file", k.folder.previousBefore(current.Number), "reason", err)
		return k
	}
	k.folder.sweep()
	return k
}

// List describes all archives, newest first.
func (k *Keeper) List() ([]View, error) { return k.folder.list() }

// Get describes one archive; ErrNone.
func (k *Keeper) Get(name string) (View, error) { return k.folder.view(name) }

// Open opens an archive for download and returns its size; ErrNone.
func (k *Keeper) Open(name string) (*os.File, int64, error) { return k.folder.open(name) }

// Delete deletes an archive; ErrNone.
func (k *Keeper) Delete(by apply.Author, name string) error {
	if err := k.folder.remove(name); err != nil {
		return err
	}
	k.options.Log.Info("backup deleted", "name", name, "by", by.Name, "source", by.Source)
	return nil
}

// minPassphrase is the minimum length of a passphrase, as an archive can be attacked for
// years.
const minPassphrase = 12

func checkPassphrase(text string) error {
	if n := len(text); n != 0 && (n < minPassphrase || n > 512) {
		return invalid("passphrase: %d to 512 bytes are allowed, or none for an archive that is not encrypted and can be restored on this node only", minPassphrase)
	}
	return nil
}

// Create creates an archive of the current state. Errors: *Error, ErrExists, ErrFull, errors
// of the store and the disk.
func (k *Keeper) Create(by apply.Author, name, passphrase string) (View, error) {
	k.busy.Lock()
	defer k.busy.Unlock()
	if err := k.Check(name, passphrase); err != nil {
		return View{}, err
	}
	a, err := k.collect(passphrase != "")
	if err != nil {
		return View{}, err
	}
	if err := k.save(name, k.folder.file(name), a, passphrase, disk.CreateFrom); err != nil {
		return View{}, err
	}
	k.options.Log.Info("backup created", "name", name, "encrypted", passphrase != "", "by", by.Name, "source", by.Source)
	return k.Get(name)
}

// Check returns the error that Create would return. Errors: *Error, ErrExists, ErrFull.
func (k *Keeper) Check(name, passphrase string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if name == Before {
		return invalid("name: %s is kept for what was there before a restoration", Before)
	}
	if err := checkPassphrase(passphrase); err != nil {
		return err
	}
	return k.folder.room(name, 0)
}

// save writes an archive, within the size limit.
func (k *Keeper) save(name, path string, a *archive, passphrase string, as func(string, func(io.Writer) error) error) error {
	err := as(path, func(w io.Writer) error { return a.write(&limited{w: w, left: MaxSize}, passphrase) })
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return disk.Explain(path, fmt.Errorf("write the backup %s: %w", name, err))
}

// limited is a writer that rejects data beyond the size limit.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, invalid("the archive would be larger than the %d MiB one may have", MaxSize>>20)
	}
	return l.w.Write(b)
}

// collect gathers the current state.
func (k *Keeper) collect(encrypted bool) (*archive, error) {
	cfg, _, contents, err := k.options.Store.Whole()
	if err != nil {
		return nil, err
	}
	contents.Documents = without(contents.Documents, append(ofNow, pendingName)...)
	a := &archive{Contents: contents, Farms: map[uint32]string{}}
	for i := range cfg.Farms {
		a.Farms[cfg.Farms[i].ID] = cfg.Farms[i].Name
	}
	if a.Config, err = document.Encode(cfg); err != nil {
		return nil, err
	}
	if a.Hooks, err = k.programs(); err != nil {
		return nil, err
	}
	if a.Places, err = k.places(); err != nil {
		return nil, err
	}
	keys, err := k.options.Certificates.NodeKeys()
	if err != nil {
		return nil, invalid("secrets could not be restored: %s", err)
	}
	if encrypted {
		a.NodeKeys = keys
	}
	host, _ := os.Hostname()
	a.Manifest = Manifest{Format: format, Product: product, Version: k.options.Version, Layout: store.Layout,
		Date: k.options.Now().UTC().Truncate(time.Second), Hostname: host, Node: k.options.NodeKeyID(keys[0])}
	return a, nil
}

// places returns the GeoIP database, nil if there is none or if it is too large. A backup
// without it is better than none.
func (k *Keeper) places() ([]byte, error) {
	if k.options.Places == nil {
		return nil, nil
	}
	saved, err := k.options.Places.Saved()
	if len(saved) > maxPlaces {
		k.options.Log.Warn("the GeoIP database is in no backup: it is too large", "bytes", len(saved), "most", maxPlaces)
		return nil, nil
	}
	return saved, err
}

// maxProgram is the maximum size of an operator program in bytes.
const maxProgram = 4 << 20

// programs reads the operator programs and skips other files.
func (k *Keeper) programs() (out []Hook, err error) {
	for _, folder := range programFolders {
		entries, err := os.ReadDir(filepath.Join(k.options.Dir, folder))
		if err != nil {
			continue // without a folder there are no programs
		}
		for _, e := range entries {
			h, is := programMember(folder + "/" + e.Name())
			if !is || (hook.Program{Folder: filepath.Join(k.options.Dir, folder), Name: h.Name}).Check() != nil {
				continue
			}
			if len(out) == maxHooks {
				return nil, invalid("there are more than %d programs in the folders %s", maxHooks, strings.Join(programFolders, " and "))
			}
			if h.Content, err = k.readProgram(&h); err != nil {
				return nil, err
			}
			out = append(out, h)
		}
	}
	return out, nil
}

func (k *Keeper) readProgram(h *Hook) ([]byte, error) {
	f, err := os.OpenFile(filepath.Join(k.options.Dir, h.path()), os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxProgram+1))
	if err == nil && len(content) > maxProgram {
		err = invalid("%s is larger than the %d MiB a program in a backup may have: put it elsewhere and call it from a small one", h.path(), maxProgram>>20)
	}
	return content, err
}

// Upload stores an archive under an unused name. It is first read completely and checked, as
// far as possible without a passphrase. Errors: *Error, ErrExists, ErrFull, errors of the
// disk.
func (k *Keeper) Upload(by apply.Author, name string, from io.Reader, size int64) (View, error) {
	if err := checkName(name); err != nil {
		return View{}, err
	}
	if name == Before {
		return View{}, invalid("name: %s is kept for what was there before a restoration", Before)
	}
	if size > MaxSize {
		return View{}, invalid("the archive has %d bytes, at most %d are taken", size, MaxSize)
	}
	if !k.uploads.TryLock() {
		return View{}, fmt.Errorf("%w: another backup is being uploaded, try again when it is here", ErrFull)
	}
	defer k.uploads.Unlock()
	if err := k.folder.room(name, uint64(max(size, 0))); err != nil {
		return View{}, err
	}
	path := k.folder.file(name)
	err := disk.CreateFrom(path, func(w io.Writer) error {
		in := io.TeeReader(from, w)
		if _, _, err := unpack(in); err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, io.LimitReader(in, 1)) // gzip reads to its end
		if err == nil && n > 0 {
			return damaged("something follows its end")
		}
		return err
	})
	var known *Error
	if err != nil && !errors.As(err, &known) {
		return View{}, disk.Explain(path, fmt.Errorf("keep the backup %s: %w", name, err))
	}
	if err != nil {
		return View{}, err
	}
	k.options.Log.Info("backup uploaded", "name", name, "by", by.Name, "source", by.Source)
	return k.Get(name)
}

func without(list []store.StoredDocument, names ...string) (out []store.StoredDocument) {
	for _, d := range list {
		if !called(d, names) {
			out = append(out, d)
		}
	}
	return out
}

func only(list []store.StoredDocument, names []string) (out []store.StoredDocument) {
	for _, d := range list {
		if called(d, names) {
			out = append(out, d)
		}
	}
	return out
}

func called(d store.StoredDocument, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, d.Name) || strings.HasSuffix(name, ".") && len(d.Name) > len(name) && strings.EqualFold(name, d.Name[:len(name)])
	})
}
