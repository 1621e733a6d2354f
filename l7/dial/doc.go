// Package dial keeps the connections to backends: it opens them, hands out
// idle ones again, and drops those that died while idle.
//
// A Pool belongs to one loop; nothing in it is locked. A connection carries
// one exchange at a time and belongs to that exchange's Owner meanwhile. Between
// exchanges it is anybody's, in the Pool, or one client's alone, in its Kept.
package dial
