package support

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
)

// secrets are the patterns of secrets: fields and variables with such names, private keys,
// password hashes, and credentials of HTTP and URLs. They are compiled on first use.
var secrets = sync.OnceValue(func() []struct {
	pattern *regexp.Regexp
	with    []byte
} {
	list := []struct{ pattern, with string }{
		{`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----)?`, `[a private key]`},
		{`\$2[abxy]\$\d\d\$[./A-Za-z0-9]{10,}`, `***`},
		{`\$argon2id?\$[^\s"']+`, `***`},
		{`(?i)\b(authorization|proxy-authorization|cookie|set-cookie)(["']?\s*[:=]\s*["']?)[^"'\r\n]+`, `$1$2***`},
		{`(?i)((?:passw(?:or)?d|passphrase|secret|token|community|zapi[_-]?key|api[_-]?key|private[_-]?key|access[_-]?key)[a-z0-9_-]{0,32})(["']?\s*[:=]\s*)("[^"\r\n]*"|'[^'\r\n]*'|[^\s,;&"'}\]]+)`, `$1$2***`},
		{`(://[^\s/:@"']{1,64}):[^\s/@"']+@`, `$1:***@`},
	}
	out := make([]struct {
		pattern *regexp.Regexp
		with    []byte
	}, len(list))
	for i, s := range list {
		out[i].pattern, out[i].with = regexp.MustCompile(s.pattern), []byte(s.with)
	}
	return out
})

// hints are words in lower case: every known secret has one of them next to it. Lines
// without any of them, which are most, need no further check.
var hints = [][]byte{[]byte("pass"), []byte("secret"), []byte("token"), []byte("community"), []byte("key"), []byte("authorization"), []byte("cookie"), []byte("$2"), []byte("$argon2"), []byte("://")}

// Scrub masks everything that looks like a secret.
func Scrub(b []byte) []byte {
	all := secrets()
	if keys := all[0]; bytes.Contains(b, []byte("PRIVATE KEY-----")) { // over several lines
		b = keys.pattern.ReplaceAll(b, keys.with)
	}
	out := make([]byte, 0, len(b))
	for line := range bytes.Lines(b) {
		if suspicious(line) {
			for _, s := range all[1:] {
				line = s.pattern.ReplaceAll(line, s.with)
			}
		}
		out = append(out, line...)
	}
	return out
}

func suspicious(line []byte) bool {
	small := bytes.ToLower(line)
	return slices.ContainsFunc(hints, func(hint []byte) bool { return bytes.Contains(small, hint) })
}
