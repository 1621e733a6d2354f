package httpfarm

import (
	"strings"
	"testing"
)

// Variables of other programs and file names are rejected where they would be sent
// literally.
func TestVariablesOfOtherProgramsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func(string) string
		good  []string
		bad   map[string]string
	}{
		{"redirect", checkRedirect,
			[]string{"https://${VHOST}/$1?a=$9", "https://a.test/$", "https://a.test/%20%41"},
			map[string]string{
				"https://$host$request_uri": "$host is not replaced here: write ${VHOST}", "https://${host}/": "write ${VHOST}", "https://$http_host/": "write ${VHOST}",
				"https://a.test$request_uri": "redirecttype=append", "https://a.test$uri": "redirecttype=append", "$scheme://a.test/": "a redirect knows ${VHOST}",
				"https://a.test/${": "a redirect knows", "https://%[hdr(host)]/": "%[hdr(host)] is not replaced", "https://%{HTTP_HOST}/": "%{HTTP_HOST} is not replaced",
				"@/etc/url": "not read from a file", "https://a.test/$foo": "$foo is not replaced",
			}},
		{"header", checkHeaderLine,
			[]string{"X-A: 5 $ and 100%", "X-A: $1$2", "X-A: $apr1$salt$hash", "X-A: a@b.test", "X-A: @", "X-A: @me and you", "X-A: /etc/passwd", "X-A: $hosts", "X-A: %20", "X-A: 50%[a"},
			map[string]string{
				"X-A: $host": "$host is not replaced: the value is sent as it stands", "X-A: a ${remote_addr} b": "${remote_addr} is not", "X-A: $proxy_add_x_forwarded_for": "is not replaced",
				"X-A: $http_x_b": "$http_x_b is", "X-A: %[src]": "%[src] is not replaced", "X-A: %{REMOTE_ADDR}e": "%{REMOTE_ADDR}e is not", "X-A: @file": "@file is not read: give the value itself",
				"X-A:@/run/secret": "@/run/secret is not read", "X-A: file:///run/secret": "is not read",
			}},
		{"replacement", checkReplacement, []string{"$1", "a$"}, map[string]string{"$host/$1": "$host is not replaced", "@f.txt": "is not read"}},
		{"target", checkTarget, []string{"/$1?a=@b"}, map[string]string{"/a$request_uri": "$request_uri is not replaced: only $1 to $9"}},
		{"error page", checkErrorText,
			[]string{"sorry", "<script>$('#host').text(`${host}`)</script>", "mail @support", "<p>$5</p>", "/gone"},
			map[string]string{"@/etc/503.html": `@/etc/503.html is not read: give the text itself, in a shell as "$(cat FILE)"`, "@file\n": "is not read", "file:x.html": "is not read", "<p>$host is down": "$host is not replaced"}},
	} {
		for _, s := range c.good {
			if problem := c.check(s); problem != "" {
				t.Errorf("%s %q: %s", c.name, s, problem)
			}
		}
		for s, want := range c.bad {
			if problem := c.check(s); !strings.Contains(problem, want) {
				t.Errorf("%s %q: %q, want %q", c.name, s, problem, want)
			}
		}
	}
}
