package totp_test

import (
	"encoding/base32"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/totp"
)

// The secret and the values of RFC 6238, appendix B, in six digits.
var rfc = base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))

func TestCodesMatchRFC6238(t *testing.T) {
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if step, right := totp.Step(rfc, code, time.Unix(at, 0), 0); !right || step != at/30 {
			t.Errorf("at %d: step %d, %t", at, step, right)
		}
	}
}

func TestCodeIsValidInAdjacentSteps(t *testing.T) {
	const code, at = "050471", 1111111111 / 30 * 30 // the first second of its step
	for offset, want := range map[int64]bool{-31: false, -30: true, 0: true, 29: true, 59: true, 60: false} {
		if _, right := totp.Step(rfc, code, time.Unix(at+offset, 0), 0); right != want {
			t.Errorf("%d s after its step began: got %t, want %t", offset, right, want)
		}
	}
}

func TestCodeIsAcceptedOnce(t *testing.T) {
	now := time.Unix(1111111111, 0)
	step, right := totp.Step(rfc, "050471", now, 0)
	if !right {
		t.Fatal("it is wrong")
	}
	for last, want := range map[int64]bool{step - 1: true, step: false, step + 1: false} {
		if _, right := totp.Step(rfc, "050471", now, last); right != want {
			t.Errorf("after one of step %d: got %t, want %t", last, right, want)
		}
	}
}

func TestInvalidCodesAreRefused(t *testing.T) {
	for _, code := range []string{"", "50471", "0504711", "05047a", "000000", "-50471", strings.Repeat("0", 1<<16)} {
		if _, right := totp.Step(rfc, code, time.Unix(1111111111, 0), 0); right {
			t.Errorf("%.10q is right", code)
		}
	}
	if _, right := totp.Step("not base32!", "050471", time.Unix(1111111111, 0), 0); right {
		t.Error("of no secret")
	}
}

func TestNewKeysAreUniqueAndScannable(t *testing.T) {
	a, err := totp.NewKey("ann", "lb7")
	b, _ := totp.NewKey("ann", "lb7")
	if err != nil || a.Secret == b.Secret {
		t.Fatalf("%v, %+v", err, a)
	}
	if raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(a.Secret); err != nil || len(raw) != 20 {
		t.Errorf("got %d bytes, %v, want 20", len(raw), err)
	}
	u, err := url.Parse(a.URI)
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Sluice:ann@lb7" || u.Query().Get("secret") != a.Secret || u.Query().Get("issuer") != "Sluice" {
		t.Errorf("%s: %v", a.URI, err)
	}
}

func TestRecoveryCodesIgnoreSpelling(t *testing.T) {
	codes, hashes := totp.NewRecovery()
	if len(codes) != 10 || len(hashes) != 10 {
		t.Fatalf("%d codes, %d hashes", len(codes), len(hashes))
	}
	for i, code := range codes {
		if slices.Contains(codes[:i], code) || len(code) != 19 {
			t.Errorf("code %q", code)
		}
		for _, typed := range []string{code, strings.ToUpper(code), strings.ReplaceAll(code, "-", ""), " " + strings.ReplaceAll(code, "-", " ")} {
			if at := totp.FindRecovery(hashes, typed); at != i {
				t.Errorf("%q is code %d, want %d", typed, at, i)
			}
		}
		if strings.Contains(string(hashes[i]), code[:4]) {
			t.Error("it is kept as it is")
		}
	}
	for _, none := range []string{"", "-", codes[0][1:], codes[0] + "a"} {
		if at := totp.FindRecovery(hashes, none); at != -1 {
			t.Errorf("%q is code %d", none, at)
		}
	}
}
