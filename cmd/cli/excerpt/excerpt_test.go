package excerpt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli/excerpt"
)

const document = `farms:
  - name: mail
    profile: l4xnat
    backends:
      - ip: 10.0.0.1
        port: 25
  - name: shop
    profile: http
    vport: 80
    services:
      - name: web
        urlp: ^/
        backends:
          - ip: 10.0.0.1
            port: 8080
            weight: 3
          - ip: 10.0.0.2
            port: 8080
      - name: old
system:
  dns:
    primary: 192.0.2.53
  snmp:
    status: true
    community: sealed:AAAA
`

func TestAnObjectIsShownAsItIsAfterAChange(t *testing.T) {
	for name, c := range map[string]struct{ diff, want string }{
		"a backend more": {
			"@@ -16,4 +16,6 @@ farm shop\n             weight: 3\n           - ip: 10.0.0.2\n             port: 8080\n+          - ip: 10.0.0.3\n+            port: 80\n       - name: old\n",
			"farms:\n  - name: shop\n    services:\n      - name: web\n        backends:\n          - ip: 10.0.0.3\n            port: 80\n",
		},
		"a setting of a backend less": {
			"@@ -13,6 +13,5 @@ farm shop\n         backends:\n           - ip: 10.0.0.1\n             port: 8080\n-            weight: 3\n           - ip: 10.0.0.2\n             port: 8080\n",
			"farms:\n  - name: shop\n    services:\n      - name: web\n        backends:\n          - ip: 10.0.0.1\n            port: 8080\n",
		},
		"a backend less": {
			"@@ -14,6 +14,4 @@ farm shop\n           - ip: 10.0.0.1\n             port: 8080\n             weight: 3\n-          - ip: 10.0.0.2\n-            port: 8080\n       - name: old\n",
			"farms:\n  - name: shop\n    services:\n      - name: web\n        urlp: ^/\n        backends:\n          - ip: 10.0.0.1\n            port: 8080\n            weight: 3\n",
		},
		"another value of a farm": {
			"@@ -3,4 +3,4 @@ farm mail\n     profile: l4xnat\n     backends:\n       - ip: 10.0.0.1\n-        port: 25\n+        port: 26\n",
			"farms:\n  - name: mail\n    backends:\n      - ip: 10.0.0.1\n        port: 26\n",
		},
		"a farm less": {"@@ -1,7 +1,2 @@\n farms:\n-  - name: mail\n-    profile: l4xnat\n-    backends:\n-      - ip: 10.0.0.1\n-        port: 25\n   - name: shop\n", ""},
		"a setting of the machine": {
			"@@ -20,3 +20,3 @@ system\n system:\n   dns:\n-    primary: 192.0.2.53\n+    primary: 192.0.2.54\n",
			"system:\n  dns:\n    primary: 192.0.2.54\n",
		},
		"beside a secret": {
			"@@ -23,3 +23,3 @@ system\n   snmp:\n-    status: true\n+    status: false\n     community: '***'\n",
			"system:\n  snmp:\n    status: false\n    community: sealed:AAAA\n",
		},
		"nothing": {"", ""},
	} {
		if got, err := excerpt.After(document, c.diff); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant:\n%s", name, err, got, c.want)
		}
	}
}

func TestADifferenceOfAnotherDocumentIsRefused(t *testing.T) {
	for _, diff := range []string{"@@ -2,1 +2,1 @@\n-  - name: post\n+  - name: mail\n", "@@ -99,1 +99,1 @@\n+x\n", "@@ -25,2 +25,2 @@\n     community: '***'\n-more\n", "@@ -9,1 +9,1 @@\n     vport: 80\n@@ -2,1 +2,1 @@\n"} {
		if got, err := excerpt.After(document, diff); !errors.Is(err, excerpt.ErrOther) {
			t.Errorf("%q: %q, %v", diff, got, err)
		}
	}
}

// A diff comes from outside.
func FuzzAfterShowsLinesOfDocumentOrDifference(f *testing.F) {
	f.Add(document, "@@ -1,1 +1,2 @@\n farms:\n+  - name: new\n")
	f.Add("a", "@@ -0,0 +0,0 @@\n")
	f.Fuzz(func(t *testing.T, document, diff string) {
		out, err := excerpt.After(document, diff)
		if err != nil {
			return
		}
		for line := range strings.Lines(out) {
			if line = strings.TrimSuffix(line, "\n"); !strings.Contains(document, line) && !strings.Contains(diff, line) {
				t.Errorf("%q is from nowhere", line)
			}
		}
	})
}
