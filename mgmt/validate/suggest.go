package validate

// Suggest returns the name of known that someone who wrote word most likely
// meant, "" when nothing is near: at most a third of the letters differ.
func Suggest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, distance := "", max(1, len(word)/3)+1
	for _, name := range known {
		if d := editDistance(word, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// editDistance counts the letters to insert, delete, replace or swap with the
// next one (optimal string alignment).
func editDistance(a, b string) int {
	before := make([]int, len(b)+1)
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
