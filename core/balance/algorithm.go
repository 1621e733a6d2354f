package balance

import "github.com/sluicelb/sluice/core/farm"

// Algorithm is how a Picker chooses among usable members. All but First respect weights.
type Algorithm uint8

// The algorithms; the zero value is RoundRobin.
const (
	// RoundRobin takes turns, exactly and across all loops.
	RoundRobin Algorithm = iota
	// LeastConnections takes the fewest exchanges in flight per weight.
	LeastConnections
	// ResponseTime takes the lowest expected time: the decaying average of
	// response times times the exchanges in flight, per weight.
	ResponseTime
	// PendingConnections takes the fewest exchanges connecting or waiting for
	// a response, per weight.
	PendingConnections
	// RandomOfTwo draws two and takes the one with fewer exchanges in flight
	// per weight.
	RandomOfTwo
	// ConsistentHash maps the hash of a client to a member (Maglev).
	ConsistentHash
	// First takes the member with the lowest priority, the first given of equals.
	First
)

// Parse returns the algorithm of a policy. An unknown policy acts as round robin; it is
// refused in mgmt/validate.
func Parse(p farm.RoutingPolicy) Algorithm {
	switch p {
	case farm.PolicyLeastConnections:
		return LeastConnections
	case farm.PolicyResponseTime:
		return ResponseTime
	case farm.PolicyPending:
		return PendingConnections
	case farm.PolicyRandomOfTwo:
		return RandomOfTwo
	case farm.PolicyConsistentHash:
		return ConsistentHash
	}
	return RoundRobin
}

// ParseL4 returns the algorithm of an l4xnat farm. Hash algorithms differ in what the caller
// hashes. For roundrobin NewL4 makes weights equal.
func ParseL4(a farm.L4Algorithm) Algorithm {
	switch a {
	case farm.L4LeastConn:
		return LeastConnections
	case farm.L4HashSrc, farm.L4HashFlow, farm.L4HashSrcPt, farm.L4HashDst, farm.L4HashDstPt, farm.L4SymHash:
		return ConsistentHash
	case farm.L4Priority:
		return First
	}
	return RoundRobin
}

// ParseOf returns the algorithm of a group.
func ParseOf(c farm.Choosing) Algorithm {
	if c.Policy != nil {
		return Parse(*c.Policy)
	}
	return ParseL4(c.Algorithm)
}

// NeedsLoad reports whether the algorithm compares loads, so that every exchange must be
// counted. Pick counts Active itself; the caller updates Load.Pending and calls
// Load.Observe.
func (a Algorithm) NeedsLoad() bool { return a != RoundRobin && a != ConsistentHash && a != First }

// String returns the name for logs and explanations.
func (a Algorithm) String() string {
	switch a {
	case RoundRobin:
		return "round robin"
	case LeastConnections:
		return "least connections"
	case ResponseTime:
		return "response time"
	case PendingConnections:
		return "pending connections"
	case RandomOfTwo:
		return "random of two"
	case ConsistentHash:
		return "consistent hash"
	case First:
		return "first by priority"
	}
	return "unknown algorithm"
}
