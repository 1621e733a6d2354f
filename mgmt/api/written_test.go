package api_test

import (
	"hash/maphash"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sluicelb/sluice/mgmt/store"
)

var seed = maphash.MakeSeed()

// written changes with every write to the store: the first two pages of its file identify
// the last transaction.
func (a *appliance) written() string {
	f, err := os.Open(filepath.Join(a.dir, store.FileName))
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	pages := make([]byte, 2*os.Getpagesize())
	if _, err := f.ReadAt(pages, 0); err != nil {
		a.t.Fatal(err)
	}
	return strconv.FormatUint(maphash.Bytes(seed, pages), 16)
}
