package radius_test

import (
	"crypto/hmac"
	"crypto/md5"
	"strings"
	"testing"

	"layeh.com/radius"
	"layeh.com/radius/rfc2865"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	ours "github.com/sluicelb/sluice/mgmt/probe/radius"
)

// server accepts ann with "right", and ignores requests without a valid
// Message-Authenticator. sign says how it signs its answers.
func server(t *testing.T, secret, sign string) probe.Target {
	return probetest.Datagrams(t, func(asked []byte) []byte {
		p, err := radius.Parse(asked, []byte(secret))
		if err != nil {
			return nil
		}
		given := p.Get(80)
		blank := append([]byte{}, asked...)
		clear(blank[22:38])
		if asked[20] != 80 || !hmac.Equal(given, sum(blank, secret)) {
			return nil
		}
		code := radius.CodeAccessReject
		if p.Code == radius.CodeStatusServer || rfc2865.UserName_GetString(p) == "ann" && rfc2865.UserPassword_GetString(p) == "right" {
			code = radius.CodeAccessAccept
		}
		r := p.Response(code)
		r.Add(18, []byte("hello"))
		if sign != "none" {
			r.Add(80, make([]byte, 16))
			b, _ := r.MarshalBinary()
			mark := sum(b, secret)
			if sign == "wrong" {
				mark[0] ^= 1
			}
			r.Set(80, mark)
		}
		b, _ := r.Encode()
		if sign == "forged" { // without a Message-Authenticator, and made without the secret
			r.Del(80)
			r.Secret = []byte("guess")
			b, _ = r.Encode()
		}
		return b
	})
}

func sum(b []byte, secret string) []byte {
	h := hmac.New(md5.New, []byte(secret))
	h.Write(b)
	return h.Sum(nil)
}

func TestUserIsAuthenticated(t *testing.T) {
	for _, c := range []struct{ sign, secret, args, reason string }{
		{"right", "s3cret", "-u ann -p right", ""}, {"none", "s3cret", "-u ann -p right", ""},
		{"right", "s3cret", "-u ann -p wrong", "the user was rejected"}, {"right", "s3cret", "-u ann -p wrong --accept-reject", ""},
		{"right", "s3cret", "--status-server", ""}, {"right", "s3cret", "-u ann -p right -n nas -N 10.0.0.1", ""},
		{"wrong", "s3cret", "-u ann -p right", "no"}, {"forged", "s3cret", "-u ann -p right", "no"}, {"right", "other", "-u ann -p right", "no"},
	} {
		got := probetest.In(t, 6e8, "check_radius", ours.Check, server(t, "s3cret", c.sign), append(strings.Fields(c.args), "-P", "PORT", "--secret", c.secret)...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
		if strings.Contains(got.Said, "s3cret") || strings.Contains(got.Said, "right") {
			t.Errorf("a secret is shown: %s", got.Said)
		}
	}
	for args, want := range map[string]string{"-u ann": "the secret shared", "--secret x": "write a user", "--secret x -u ann --status-server": "write a user", "-F file": "has no flag -F"} {
		if got := probetest.Refused(t, "check_radius", ours.Check, strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
}
