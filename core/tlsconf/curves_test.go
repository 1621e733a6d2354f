package tlsconf_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/tlsconf"
)

func TestGroupsUseOpenSSLNames(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"auto", ""},
		{"X25519", "X25519"}, {"x25519", "X25519"},
		{"P-256:prime256v1:secp256r1", "CurveP256"},
		{"secp384r1:P-521", "CurveP384 CurveP521"},
		{"X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024", "X25519MLKEM768 SecP256r1MLKEM768 SecP384r1MLKEM1024"},
		{"?*X25519MLKEM768 / ?*X25519:?secp256r1 / ?X448:?future", "X25519MLKEM768 X25519 CurveP256"},
	} {
		got, err := tlsconf.CheckCurves(c.in)
		if err != nil || !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q: %v, %v, want %s", c.in, got, err, c.want)
		}
	}
}

func TestUnsupportedGroupsAreNamed(t *testing.T) {
	for _, c := range []struct{ in, names string }{
		{"X25519:X25518", "unknown X25518"},
		{"X448:X25519", "crypto/tls X448"},
		{"brainpoolP256r1:sect283k1:ffdhe2048:secp256k1", "crypto/tls brainpoolP256r1 sect283k1 ffdhe2048 secp256k1"},
		{"*P-257", "P-257"},
		{"?X448", "no group"},
		{":", "no group"},
		{strings.Repeat("X25519:", 150), "at most 1024"},
	} {
		_, err := tlsconf.CheckCurves(c.in)
		for name := range strings.FieldsSeq(c.names) {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%q: %v lacks %s", c.in, err, name)
			}
		}
	}
}
