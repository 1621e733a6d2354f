package route

import "fmt"

// CompileCrowd is Compile with a different crowd: with 0, every pattern that needs a literal
// is a candidate.
var CompileCrowd = compileTable

// Services returns rules whose patterns differ neither at the beginning nor at the end.
func Services(n int) []Rule {
	rules := make([]Rule, n)
	for i := range rules {
		rules[i] = Rule{
			Host: fmt.Sprintf(`(www|shop)[a-z]*%03d\.example\.(org|net)$`, i),
			URL:  fmt.Sprintf(`^/[a-z]+%03d/(v[0-9]+/)?[0-9a-z]+`, i),
		}
	}
	return rules
}
