package backup

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/hook"
)

// Folder is the archive folder in the data directory.
const Folder = "backup"

// Before is the archive of the state before the last restoration. It is created
// automatically, replaces its predecessor, and does not count towards MaxBackups.
const Before = "before-restore"

const (
	// MaxBackups is the maximum number of archives.
	MaxBackups = 32
	maxName    = 64
	suffix     = ".tar.gz"
	// spare is the disk space reserved for the store.
	spare = 16 << 20
)

// View describes an archive.
type View struct {
	Name     string
	Size     int64
	Date     time.Time // creation time, or modification time of the file if Problem is set
	Manifest Manifest
	// Problem is the reason why it cannot be read, "" if it can.
	Problem string
}

// checkName rejects invalid archive names.
func checkName(name string) error {
	plain := name != "" && name != "0" && len(name) <= maxName && name[0] != '-'
	for i := range len(name) {
		c := name[i]
		plain = plain && ('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-')
	}
	if !plain {
		return invalid("name: %q is no name of a backup: letters, digits, _ and - (not the first), at most %d, and not 0", hook.Shown(name), maxName)
	}
	return nil
}

// folder is the archive folder.
type folder struct{ path string }

func (f folder) file(name string) string { return filepath.Join(f.path, name+suffix) }

// names returns the names of all archives.
func (f folder) names() ([]string, error) {
	entries, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	var out []string
	for _, e := range entries {
		if name, found := strings.CutSuffix(e.Name(), suffix); found && checkName(name) == nil && e.Type().IsRegular() {
			out = append(out, name)
		}
	}
	return out, nil
}

// list describes all archives, newest first.
func (f folder) list() ([]View, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	var out []View
	for _, name := range names {
		if v, err := f.view(name); err == nil {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b View) int {
		if n := b.Date.Compare(a.Date); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// view describes one archive. It reads only the manifest.
func (f folder) view(name string) (View, error) {
	in, size, err := f.open(name)
	if err != nil {
		return View{}, err
	}
	defer in.Close()
	v := View{Name: name, Size: size}
	if info, err := in.Stat(); err == nil {
		v.Date = info.ModTime()
	}
	m, err := manifestOf(in)
	if err != nil {
		v.Problem = err.Error()
		return v, nil
	}
	v.Manifest, v.Date = m, m.Date
	return v, nil
}

func manifestOf(r io.Reader) (Manifest, error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return Manifest{}, told(err)
	}
	return readManifest(tar.NewReader(&bounded{r: compressed, left: maxManifest + 64<<10, what: "its manifest is too long"}))
}

// open opens an archive. Errors: ErrNone, *Error for an invalid name.
func (f folder) open(name string) (*os.File, int64, error) {
	if err := checkName(name); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrNone, err)
	}
	in, err := os.OpenFile(f.file(name), os.O_RDONLY|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNone, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open the backup %s: %w", name, err)
	}
	info, err := in.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = invalid("the backup %s is no file", name)
	}
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// room creates the folder, and returns an error if another archive must not be stored.
func (f folder) room(name string, bytes uint64) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return disk.Explain(f.path, fmt.Errorf("make the folder of backups: %w", err))
	}
	names, err := f.names()
	if err != nil {
		return err
	}
	if slices.Contains(names, name) && name != Before {
		return fmt.Errorf("the backup %s %w: choose another name, or delete it first", name, ErrExists)
	}
	if kept := len(slices.DeleteFunc(names, func(n string) bool { return n == Before })); kept >= MaxBackups && name != Before {
		return fmt.Errorf("%w: %d backups are kept: download some and delete them", ErrFull, MaxBackups)
	}
	if err := disk.Room(f.path, bytes+spare); err != nil {
		return fmt.Errorf("%w for the backup %s: %w", ErrFull, name, err)
	}
	return nil
}

// remove deletes an archive.
func (f folder) remove(name string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	err := os.Remove(f.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNone, name)
	}
	return err
}

// sweep removes leftovers of interrupted uploads and backups.
func (f folder) sweep() {
	entries, _ := os.ReadDir(f.path)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(f.path, e.Name()))
		}
	}
}
