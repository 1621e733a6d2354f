package httpfarm

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/regexcost"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// The ranges of all classes of a pattern are counted, up to their limit.
func TestPatternsMayHaveSoManyRanges(t *testing.T) {
	var pattern strings.Builder
	ranges := 0
	for _, class := range []string{`\pL`, `\p{Greek}`, `[a-c]`} {
		re, err := syntax.Parse(class, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for n := len(re.Rune) / 2; ranges+n <= regexcost.MaxRanges; ranges += n {
			pattern.WriteString(class)
		}
	}
	if ranges != regexcost.MaxRanges {
		t.Fatalf("%d ranges", ranges)
	}
	if problem := CheckPattern(pattern.String()); problem != "" {
		t.Errorf("%d ranges: %s", ranges, problem)
	}
	if problem := CheckPattern(pattern.String() + "[a-c]"); problem != fmt.Sprintf("its character classes hold more than %d ranges", regexcost.MaxRanges) {
		t.Errorf("%d ranges: %q", ranges+1, problem)
	}
}

// The number of passwords hashed per body is bounded by the patience of clients.
func TestPasswordsOfABodyAreBounded(t *testing.T) {
	const hash = "$2y$05$buP1zTIhCSBwzjbi2G2IveSR91Z/C.SYy3pcsq0fexwERkkwA/UL6"
	s := &farm.Service{Auth: &farm.Auth{Users: []farm.AuthUser{{Name: "known", Hash: hash}}}}
	users := []string{"known:" + format.Unchanged, "hashed:" + hash}
	for i := range maxPlain {
		users = append(users, fmt.Sprintf("u%d:secret", i))
	}
	told := func(list []string) string {
		return needsUsers(ServiceUpdate.Checked("", map[string]field.Value{"auth_users": field.ListValue(list)}), s)
	}
	if got := told(users); got != "" {
		t.Errorf("%d passwords: %s", maxPlain, got)
	}
	if got := told(append(users, "one:more")); !strings.HasPrefix(got, "may hold at most 32 passwords at once, got 33: ") {
		t.Errorf("%d passwords: %s", maxPlain+1, got)
	}
	if got := told([]string{"other:" + format.Unchanged}); !strings.HasPrefix(got, `names user "other" with ***, which keeps the password a user has; there is no such user`) {
		t.Errorf("an unknown user's password: %s", got)
	}
}
