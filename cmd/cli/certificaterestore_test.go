package cli_test

import (
	"strings"
	"testing"
)

// A restore swaps the certificates that it asked about, or none.
func TestARestoreIsOfTheCertificateThatWasShown(t *testing.T) {
	mine, other, third := newPapers(t, "shop.example"), newPapers(t, "other.example"), newPapers(t, "third.example")
	a := start(t)
	a.shop()
	a.must("certificate", "upload", "shop", mine.full)
	a.must("farm", "set", "shop", "listener=https", "certificates=shop.pem")
	a.must("service", "set", "shop", "web", "vhost=") // any host
	a.must("certificate", "replace", "shop.pem", other.full, "--yes")
	code, shown := a.asked(t, "certificate restore shop.pem", func() { a.must("certificate", "replace", "shop.pem", third.full, "--yes") })
	if code == 0 || !strings.Contains(shown, "replaced meanwhile") {
		t.Errorf("status %d\n%s", code, shown)
	}
	if now := a.must("certificate", "show", "shop.pem"); !strings.Contains(now, "third.example") {
		t.Errorf("another one is in use:\n%s", now)
	}
	if code, shown := a.asked(t, "certificate restore shop.pem", func() {}); code != 0 {
		t.Errorf("undisturbed: status %d\n%s", code, shown)
	}
}

// So does a replacement by which services lose names.
func TestAReplacementIsOfTheCertificateThatWasShown(t *testing.T) {
	mine, other, third := newPapers(t, "shop.example"), newPapers(t, "other.example"), newPapers(t, "third.example")
	a := start(t)
	a.shop()
	a.must("certificate", "upload", "shop", mine.full)
	a.must("farm", "set", "shop", "listener=https", "certificates=shop.pem")
	a.must("service", "set", "shop", "web", "vhost=shop.example")
	replace := "certificate replace shop.pem " + other.full
	code, shown := a.asked(t, replace, func() { a.must("certificate", "replace", "shop.pem", third.full, "--yes") })
	if code == 0 || !strings.Contains(shown, "replaced meanwhile") {
		t.Errorf("status %d\n%s", code, shown)
	}
	if now := a.must("certificate", "show", "shop.pem"); !strings.Contains(now, "third.example") {
		t.Errorf("another one is in use:\n%s", now)
	}
	a.must("certificate", "replace", "shop.pem", mine.full, "--yes")
	if code, shown := a.asked(t, replace, func() {}); code != 0 {
		t.Errorf("undisturbed: status %d\n%s", code, shown)
	}
}
