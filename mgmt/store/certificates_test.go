package store_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// certificate returns a certificate whose content identifies n.
func certificate(name string, n int) store.Certificate {
	return store.Certificate{Name: name, Chain: [][]byte{bytes.Repeat([]byte{byte(n)}, 900), {1, 2, byte(n)}},
		Key: bytes.Repeat([]byte{byte(n), 7}, 700), Staple: []byte{byte(n)}, Added: time.Unix(int64(n), 0).UTC(), Author: fmt.Sprint("author ", n)}
}

func TestCertificatesAndAuthoritiesAreReadBackByName(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	csr := store.Certificate{Name: "a.csr", Request: []byte{9}, Key: []byte{8}}
	put := []store.Certificate{certificate("shop.pem", 1), certificate("*.example.com.pem", 2), csr}
	if err := s.ChangeCertificates(put); err != nil {
		t.Fatal(err)
	}
	ca := store.Authority{Name: "clients", Certificates: [][]byte{{1}, {2}}, Revoked: [][]byte{{3}}, Author: "root"}
	if err := s.PutAuthority(ca); err != nil {
		t.Fatal(err)
	}
	commit(t, s, 1)
	s.Close()
	s = open(t, dir)
	got, err := s.Certificates()
	if want := []store.Certificate{put[1], csr, put[0]}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v %+v, want %+v", err, got, want)
	}
	authorities, err := s.Authorities()
	if err != nil || !reflect.DeepEqual(authorities, []store.Authority{ca}) {
		t.Errorf("%v %+v", err, authorities)
	}
	if err := s.ChangeCertificates([]store.Certificate{certificate("shop.pem", 5)}, "a.csr", "none.pem"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteAuthority("clients"); err != nil {
		t.Fatal(err)
	}
	got, _ = s.Certificates()
	if want := []store.Certificate{put[1], certificate("shop.pem", 5)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if authorities, err := s.Authorities(); err != nil || len(authorities) != 0 {
		t.Errorf("%v %+v", err, authorities)
	}
}

func TestCertificateChangeIsAtomic(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, 1)
	if err := s.ChangeCertificates([]store.Certificate{certificate("shop.pem", 1)}); err != nil {
		t.Fatal(err)
	}
	err := s.ChangeCertificates([]store.Certificate{certificate("new.pem", 2), {Name: ""}}, "shop.pem") // bbolt rejects it
	if err == nil || errors.Is(err, store.ErrDiskFailed) {
		t.Fatalf("a certificate without a name: %v", err)
	}
	got, err := s.Certificates()
	if err != nil || !reflect.DeepEqual(got, []store.Certificate{certificate("shop.pem", 1)}) {
		t.Errorf("%v %+v", err, got)
	}
}

func TestLayout2GetsRoomForCertificates(t *testing.T) {
	dir := placeStore(t, "testdata/layout2.db")
	s := open(t, dir)
	cfg, rev := s.Current()
	if rev.Number != 40 || !reflect.DeepEqual(cfg, numberedConfig(40)) || len(s.Keys()) != 1 {
		t.Fatalf("current is %+v, %d keys", rev, len(s.Keys()))
	}
	if colour, _ := s.Setting("colour"); colour != "blue" {
		t.Errorf("the setting is %q, want %q", colour, "blue")
	}
	if err := s.ChangeCertificates([]store.Certificate{certificate("shop.pem", 1)}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got, err := open(t, dir).Certificates(); err != nil || len(got) != 1 {
		t.Errorf("%v %+v", err, got)
	}
	if _, err := os.Stat(filepath.Join(dir, store.FileName+".layout2")); err != nil {
		t.Errorf("the copy of the old file: %v", err)
	}
}

// replaceForever is the child of the test below.
func replaceForever(dir string) {
	s, err := store.Open(dir)
	check(err)
	have, err := s.Certificates()
	check(err)
	n := 0
	if len(have) == 1 {
		n = int(have[0].Added.Unix())
	}
	for n++; ; n++ {
		fmt.Println("try", n)
		check(s.ChangeCertificates([]store.Certificate{certificate("shop.pem", n)}, "shop.csr"))
		fmt.Println("done", n)
	}
}

func TestNoKillLosesAnAcknowledgedCertificate(t *testing.T) {
	dir := t.TempDir()
	last := 0
	const least, most = 12, 200 // kills: more if a write takes longer than most lives
	for kill := 0; kill < least || last < least && kill < most; kill++ {
		cmd := child("certificates", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		first, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed on purpose
		tried, done := number(t, first), last
		for line := range strings.Lines(string(rest)) {
			if !strings.HasSuffix(line, "\n") {
				break // cut off by the kill
			}
			if strings.HasPrefix(line, "done") {
				done = number(t, line)
			} else {
				tried = number(t, line)
			}
		}
		s, err := store.Open(dir)
		if err != nil {
			t.Fatalf("after kill %d: %v", kill, err)
		}
		got, err := s.Certificates()
		s.Close()
		switch {
		case err != nil:
			t.Fatalf("after kill %d: %v", kill, err)
		case len(got) == 0 && done == 0:
			continue
		case len(got) != 1 || !reflect.DeepEqual(got[0], certificate("shop.pem", int(got[0].Added.Unix()))):
			t.Fatalf("after kill %d: another content: %+v", kill, got)
		}
		if last = int(got[0].Added.Unix()); last < done || last > tried {
			t.Fatalf("after kill %d: certificate %d, acknowledged %d, being written %d", kill, last, done, tried)
		}
	}
	if last < least {
		t.Errorf("only %d were written: the kills came too early to mean something", last)
	}
}

func TestNoRevisionHoldsACertificate(t *testing.T) {
	s := open(t, t.TempDir())
	cfg := numberedConfig(1)
	cfg.Certificates = []farm.Certificate{{Name: "shop.pem", Key: []byte("secret")}}
	if _, err := s.Commit(cfg, store.Meta{}); err == nil {
		t.Error("a certificate was written into a revision")
	}
	cfg.Certificates, cfg.Authorities = nil, []farm.Authority{{Name: "clients"}}
	if _, err := s.Commit(cfg, store.Meta{}); err == nil {
		t.Error("an authority was written into a revision")
	}
}
