// Package outlier tells which backends of a service do worse than the others: whose
// requests fail more often than the service allows, or whose answers take many times
// as long. It looks at what was counted in a window of time and decides nothing else.
//
// What is wrong with all of them says nothing about one: a backend stands out only
// while another does well, or had nothing to do. So a client whose requests fail
// everywhere takes no backend out. Times are compared by their medians, which a few
// slow requests of one client do not move.
package outlier
