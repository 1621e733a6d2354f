//go:build !race

// These tests are about sizes. The race detector takes a quarter of a minute here.

package backup_test

import (
	"bytes"
	"compress/gzip"
	"runtime"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/backup"
)

// A decompression bomb is read only up to the limit.
func TestRow24DecompressionIsBounded(t *testing.T) {
	h := newHouse(t)
	var bomb bytes.Buffer
	w, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	_, _ = w.Write(tarOf("manifest.json", manifestText(t))[:2048])
	zero := make([]byte, 1<<20)
	for range 1 << 9 { // half a gigabyte
		_, _ = w.Write(zero)
	}
	_ = w.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := h.Upload(root, "a", &bomb, int64(bomb.Len())); err == nil {
		t.Error("it was accepted")
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
		t.Errorf("it used %d MiB", used>>20)
	}
	if _, err := h.Upload(root, "a", endless{}, -1); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("without an end: %v", err)
	}
	if _, err := h.Upload(root, "a", strings.NewReader(""), backup.MaxSize+1); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("too long: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0x1f
	}
	if len(p) > 10 {
		copy(p, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
	}
	return len(p), nil
}

func TestLargeGeoIPDatabaseIsNotBackedUp(t *testing.T) {
	h := newHouse(t)
	for size, members := range map[sized]int{96 << 20: 3, 96<<20 + 1: 2} {
		o := h.options
		o.Places = size
		v, err := backup.New(o).Create(root, map[int]string{3: "fits", 2: "large"}[members], "")
		if err != nil || len(v.Manifest.Members) != members {
			t.Errorf("%d bytes: %+v, %v", size, v, err)
		}
	}
	if !strings.Contains(h.log.String(), "the GeoIP database is in no backup: it is too large") {
		t.Error(h.log.String())
	}
}
