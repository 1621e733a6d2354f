// Package half is tested in part by its own tests, and in part by those of tiny.
package half

// Three is what tiny asks for.
func Three() int { return 3 }

// Four is that of the package's own test.
func Four() int { return 4 }

// Five is asked for by nobody.
func Five() int { return 5 }

// Six is that of the tests beside.
func Six() int { return 6 }
