package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sluicelb/sluice/mgmt/store/boltfile"
)

// examine checks every page and record of the file before bbolt opens it. So damage shows when
// the appliance starts, not when an old revision is needed, and bbolt never sees it. A damaged
// file is set aside and replaced by one with all readable data. Files of other programs and of
// newer releases are left to later checks.
func (s *Store) examine() error {
	f, err := lockFile(s.path)
	if err != nil {
		return err
	}
	defer f.Close() // this releases the lock
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	content, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", s.path, err)
	}
	defer syscall.Munmap(content)
	file := boltfile.New(content)
	tree, err := file.Sound()
	if err == nil {
		err = checkTree(tree)
	}
	if err == nil {
		return nil
	}
	return s.salvage(file, err)
}

// lockFile opens the file with the same lock as bbolt.
func lockFile(path string) (*os.File, error) {
	for until := time.Now().Add(lockWait); ; time.Sleep(lockWait / 20) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil && isAt(f, path) {
			return f, nil
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if time.Now().After(until) {
			return nil, bolterrors.ErrTimeout
		}
	}
}

// isAt reports whether a file still has its name: another process may have replaced it.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	now, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(mine, now)
}

// checkTree returns the first damaged part of a sound file as an error.
func checkTree(t *boltfile.Tree) error {
	meta := t.Buckets[string(metaBucket)]
	if meta == nil {
		return errors.New(`the part "meta" is missing`)
	}
	version := layoutOf(recordsOf(meta))
	switch {
	case version == 0:
		return errors.New("its layout version cannot be read")
	case version == 1, version > schemaVersion:
		return nil // without checksums, or unknown to this release
	}
	if version == schemaVersion {
		for _, name := range buckets {
			if t.Buckets[string(name)] == nil {
				return fmt.Errorf("the part %q is missing", name)
			}
		}
	}
	if err := new(cursors).load(recordsOf(meta)); err != nil {
		return err
	}
	for _, name := range slices.Concat(numbered, named, partBuckets) {
		if b := t.Buckets[string(name)]; b != nil {
			if err := checkBucket(string(name), b); err != nil {
				return err
			}
		}
	}
	if version == schemaVersion {
		if err := checkParts(t); err != nil {
			return err
		}
	}
	sum, err := summaryOf(t)
	if err == nil && sum != nil {
		err = sum.check(t)
	}
	return err
}

// checkParts returns an error for a missing part of the current configuration. It reads the
// manifest and the indexes, but not the parts they name.
func checkParts(t *boltfile.Tree) error {
	records := t.Buckets[string(currentBucket)].Records
	if len(records) == 0 {
		return nil
	}
	_, m, err := readManifest(records[len(records)-1].Value)
	if err != nil {
		return fmt.Errorf("the current configuration: %w", err)
	}
	farms, zones := recordsOf(t.Buckets[string(farmsBucket)]), recordsOf(t.Buckets[string(zonesBucket)])
	check := func(in held, key []byte, sum digest, id uint32) error {
		if digestOf(in.Get(key)) != sum {
			return fmt.Errorf("a part of farm %d is missing", id)
		}
		return nil
	}
	for i := range sums(m.Farms).len() {
		id, sum := sums(m.Farms).at(i)
		if err := check(farms, farmKey(id), sum, id); err != nil {
			return err
		}
	}
	for i := range sums(m.Indexes).len() {
		id, sum := sums(m.Indexes).at(i)
		if err := check(zones, chunkKey(id, 0), sum, id); err != nil {
			return err
		}
		index, err := readIndex(zones.Get(chunkKey(id, 0)))
		if err != nil {
			return fmt.Errorf("farm %d: %w", id, err)
		}
		for _, chunks := range index {
			for _, c := range chunks {
				if err := check(zones, chunkKey(id, c.id), c.sum, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkBucket(name string, b *boltfile.Bucket) error {
	for _, r := range b.Records {
		if !intact(r.Value) || isNumbered(name) && len(r.Key) != 8 {
			return fmt.Errorf("%s %s: %w", name, shownKey(name, r.Key), errRecord)
		}
	}
	return nil
}

func isNumbered(name string) bool {
	return slices.ContainsFunc(numbered, func(n []byte) bool { return string(n) == name })
}

// shownKey returns a key in readable form.
func shownKey(name string, key []byte) string {
	if n, err := keyNumber(key); err == nil && isNumbered(name) {
		return strconv.FormatUint(n, 10)
	}
	if name == string(farmsBucket) || name == string(zonesBucket) {
		return hex.EncodeToString(key)
	}
	return strconv.Quote(string(key))
}

// held are records by key.
type held map[string][]byte

// Get implements records.
func (h held) Get(key []byte) []byte { return h[string(key)] }

func recordsOf(b *boltfile.Bucket) held {
	out := make(held, len(b.Records))
	for _, r := range b.Records {
		out[string(r.Key)] = r.Value
	}
	return out
}

// layoutOf returns the layout of a file, 0 if it is unreadable.
func layoutOf(meta records) int {
	version, err := strconv.Atoi(string(meta.Get(schemaKey)))
	if err != nil || version < 1 {
		return 0
	}
	return version
}
