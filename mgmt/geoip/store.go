package geoip

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/mgmt/disk"
)

// MaxSize bounds an upload, in bytes.
const MaxSize = 512 << 20

// FileName is the name of the table in the data directory, partName that of an incomplete
// upload.
const (
	FileName = "geoip.table"
	partName = "geoip.part"
)

// Info describes the database.
type Info struct {
	Kind     string    `json:"kind"` // declared type
	Built    time.Time `json:"-"`
	Uploaded time.Time `json:"uploaded"`
	By       string    `json:"by"`
	// Countries is the number of countries, Ranges4 and Ranges6 that of ranges per IP
	// version. Located reports whether the database has coordinates.
	Countries        int  `json:"-"`
	Ranges4, Ranges6 int  `json:"-"`
	Located          bool `json:"-"`
}

// Store holds the database in use. It is safe for concurrent use.
type Store struct {
	dir     string
	changed func() // called after the table changed

	write sync.Mutex // held during changes
	mu    sync.Mutex
	table *geoip.Table
	file  *os.File // its sealed memory
	info  Info
}

// ErrNone means that an operation needs a database and none is loaded.
var ErrNone = errors.New("there is no GeoIP database: upload one (sluice geoip upload FILE)")

// Open loads the table of a data directory. An unreadable table stays on disk and is
// reported as an error; the store works without it. changed is called when the table is
// replaced or removed.
func Open(dir string, changed func()) (*Store, error) {
	s := &Store{dir: dir, changed: changed}
	_ = os.Remove(filepath.Join(dir, partName)) // left by an interrupted upload
	raw, err := os.ReadFile(filepath.Join(dir, FileName))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = s.use(raw)
	}
	if err != nil {
		return s, fmt.Errorf("the GeoIP database is not used: %w", err)
	}
	return s, nil
}

// use activates the table of a file: a line of JSON, then the memory of the table.
func (s *Store) use(raw []byte) error {
	end := lineEnd(raw)
	var info Info
	if err := json.Unmarshal(raw[:end], &info); err != nil {
		return fmt.Errorf("%s is damaged: %w", FileName, err)
	}
	file, err := shm.Sealed("geoip", raw[end:])
	if err != nil {
		return err
	}
	m, err := shm.MapSealed(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	table, err := geoip.Map(m)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if built := table.Built(); built > 0 {
		info.Built = time.Unix(built, 0).UTC()
	}
	info.Countries, info.Located = table.Countries()
	info.Ranges4, info.Ranges6 = table.Ranges()
	s.mu.Lock()
	old := s.file
	s.table, s.file, s.info = table, file, info
	s.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
	return nil
}

// lineEnd returns the length of the first line. The memory after it is therefore
// unaligned.
func lineEnd(raw []byte) int {
	for i, c := range raw {
		if c == '\n' {
			return i + 1
		}
	}
	return len(raw)
}

// Upload reads a database from body and activates it. It fails with *Error if the
// database is invalid, and then keeps the current one.
func (s *Store) Upload(by string, body io.Reader, now time.Time) (Info, error) {
	s.write.Lock()
	defer s.write.Unlock()
	part := filepath.Join(s.dir, partName)
	defer os.Remove(part)
	if err := save(part, body); err != nil {
		return Info{}, disk.Explain(part, err)
	}
	mem, kind, err := Read(part, MaxNets)
	if err != nil {
		return Info{}, err
	}
	head, err := json.Marshal(Info{Kind: kind, By: by, Uploaded: now.UTC()})
	if err != nil {
		return Info{}, err
	}
	if err := s.put(append(append(head, '\n'), mem...)); err != nil {
		return Info{}, err
	}
	return s.Info()
}

// save writes a stream to a file.
func save(path string, body io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}

// Saved returns the database in the format of Restore, or nil if there is none.
func (s *Store) Saved() ([]byte, error) {
	s.write.Lock()
	defer s.write.Unlock()
	if s.Table() == nil {
		return nil, nil
	}
	return os.ReadFile(filepath.Join(s.dir, FileName))
}

// Check returns an *Error if saved is not a database in the format of Saved.
func Check(saved []byte) error {
	end := lineEnd(saved)
	var info Info
	if err := json.Unmarshal(saved[:end], &info); err != nil {
		return wrong("it is damaged: %v", err)
	}
	if _, err := geoip.Open(saved[end:]); err != nil {
		return wrong("it is damaged: %v", err)
	}
	return nil
}

// Restore activates a database from Saved. It fails with *Error if it is invalid, and
// then keeps the current one.
func (s *Store) Restore(saved []byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := Check(saved); err != nil {
		return err
	}
	return s.put(saved)
}

// put stores a database and activates it.
func (s *Store) put(raw []byte) error {
	path := filepath.Join(s.dir, FileName)
	if err := disk.Replace(path, raw); err != nil {
		return disk.Explain(path, err)
	}
	if err := s.use(raw); err != nil {
		return err
	}
	s.changed()
	return nil
}

// Remove deletes the database, even if it is damaged and unused. It returns ErrNone if
// there is none.
func (s *Store) Remove() error {
	s.write.Lock()
	defer s.write.Unlock()
	err := os.Remove(filepath.Join(s.dir, FileName))
	if errors.Is(err, os.ErrNotExist) && s.Table() == nil {
		return ErrNone
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.mu.Lock()
	old := s.file
	s.table, s.file, s.info = nil, nil, Info{}
	s.mu.Unlock()
	if old != nil {
		_ = old.Close()
		s.changed()
	}
	return nil
}

// Info describes the database in use. It returns ErrNone if there is none.
func (s *Store) Info() (Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil {
		return Info{}, ErrNone
	}
	return s.info, nil
}

// Missing returns sentences about features of a farm that the database does not support.
func (s *Store) Missing(f *farm.Farm) []string {
	info, err := s.Info()
	if by := f.ChoosesByPlace(false); by != nil && err != nil {
		return []string{fmt.Sprintf("service %s chooses by where clients are, and nobody knows that: %s", by.Name, err)}
	}
	if by := f.ChoosesByPlace(true); by != nil && !info.Located {
		return []string{fmt.Sprintf("service %s takes what is nearest, and the GeoIP database %s has no coordinates: upload one of cities (sluice geoip upload FILE)", by.Name, info.Kind)}
	}
	return nil
}

// Table returns the table in use, or nil.
func (s *Store) Table() *geoip.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table
}

// noPlaces returns an empty table and its memory, which the engine gets without a
// database.
var noPlaces = sync.OnceValues(func() (*geoip.Table, []byte) {
	mem := geoip.NewBuilder().Memory(0)
	t, err := geoip.Open(mem)
	if err != nil {
		panic(err) // an empty table is valid
	}
	return t, mem
})

// Key returns the key of the memory of the table in use.
func (s *Store) Key() string {
	if t := s.Table(); t != nil {
		return t.Key()
	}
	none, _ := noPlaces()
	return none.Key()
}

// Memory returns the sealed memory of the table in use, or of an empty table, with its
// key. The caller closes the file.
func (s *Store) Memory() (key string, file *os.File, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil {
		none, mem := noPlaces()
		file, err = shm.Sealed("geoip", mem)
		return none.Key(), file, err
	}
	file, err = shm.Duplicate(s.file)
	return s.table.Key(), file, err
}
