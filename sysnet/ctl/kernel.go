package ctl

import (
	"context"
	"os"
	"time"
)

// Operations of the part that implements kernel farms (l4/kernel).
const (
	OpKernelApply    Op = "kernel-apply"
	OpKernelCheck    Op = "kernel-check"
	OpKernelState    Op = "kernel-state"
	OpKernelRules    Op = "kernel-rules"
	OpKernelObjects  Op = "kernel-objects"
	OpKernelTraffic  Op = "kernel-traffic"
	OpKernelSessions Op = "kernel-sessions"
	OpKernelSession  Op = "kernel-session"
	OpKernelChange   Op = "kernel-change-session"
	OpKernelLearn    Op = "kernel-learn-sessions"
)

// KernelState is the state of the kernel farms.
type KernelState struct {
	// Generation is that of the snapshot in force; 0 if this netd has not received one.
	Generation uint64 `json:"generation"`
	// Problems holds the farms that are not in the kernel, with the reason, by ID.
	Problems map[uint32]string `json:"problems,omitempty"`
	// Warnings holds sentences, by ID of the farm: backends that get no traffic although
	// their farm is active, and firewalls that may drop packets of the farm.
	Warnings map[uint32][]string `json:"warnings,omitempty"`
	// Restored counts how often rules were restored after a foreign change or removal.
	Restored uint64 `json:"restored,omitempty"`
}

// KernelApply makes the farms of a snapshot the only ones in the kernel. Problems of the
// result lists farms that could not be applied.
func (c *Client) KernelApply(ctx context.Context, snapshot *os.File) (KernelState, error) {
	var s KernelState
	err := c.Ask(ctx, OpKernelApply, struct{}{}, &s, snapshot)
	return s, err
}

// KernelCheck returns the farms of a snapshot that the kernel would reject, and changes
// nothing. It does not find problems that appear only when rules are applied.
func (c *Client) KernelCheck(ctx context.Context, snapshot *os.File) (KernelState, error) {
	var s KernelState
	err := c.Ask(ctx, OpKernelCheck, struct{}{}, &s, snapshot)
	return s, err
}

// KernelState returns the state of the kernel farms.
func (c *Client) KernelState(ctx context.Context) (KernelState, error) {
	var s KernelState
	err := c.Ask(ctx, OpKernelState, struct{}{}, &s)
	return s, err
}

// KernelFarm is the body of OpKernelRules.
type KernelFarm struct {
	Farm uint32 `json:"farm"`
}

// KernelRules returns the kernel rules of a farm as text, or "" if the farm is not in the
// kernel.
func (c *Client) KernelRules(ctx context.Context, farm uint32) (text string, err error) {
	err = c.Ask(ctx, OpKernelRules, KernelFarm{farm}, &text)
	return text, err
}

// KernelObject is one object that netd created in the kernel.
type KernelObject struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

// KernelObjects lists the objects of Sluice in the packet filter.
func (c *Client) KernelObjects(ctx context.Context) (list []KernelObject, err error) {
	err = c.Ask(ctx, OpKernelObjects, struct{}{}, &list)
	return list, err
}

// KernelCount holds the counters of a farm or a backend. In is from clients, Out is to
// clients. Established and Pending are current connections.
type KernelCount struct {
	Connections uint64 `json:"connections"`
	Established uint64 `json:"established"`
	Pending     uint64 `json:"pending"`
	PacketsIn   uint64 `json:"packets_in"`
	BytesIn     uint64 `json:"bytes_in"`
	PacketsOut  uint64 `json:"packets_out"`
	BytesOut    uint64 `json:"bytes_out"`
}

// Add adds the counters of o.
func (c *KernelCount) Add(o KernelCount) {
	c.Connections += o.Connections
	c.Established += o.Established
	c.Pending += o.Pending
	c.PacketsIn += o.PacketsIn
	c.BytesIn += o.BytesIn
	c.PacketsOut += o.PacketsOut
	c.BytesOut += o.BytesOut
}

// CountIn adds packets from clients.
func (c *KernelCount) CountIn(packets, bytes uint64) {
	c.PacketsIn, c.BytesIn = c.PacketsIn+packets, c.BytesIn+bytes
}

// CountOut adds packets to clients.
func (c *KernelCount) CountOut(packets, bytes uint64) {
	c.PacketsOut, c.BytesOut = c.PacketsOut+packets, c.BytesOut+bytes
}

// KernelTraffic holds the counters of farms and backends, by ID.
type KernelTraffic struct {
	Farms    map[uint32]KernelCount `json:"farms"`
	Backends map[uint32]KernelCount `json:"backends"`
}

// KernelTraffic returns the counters of all kernel farms.
func (c *Client) KernelTraffic(ctx context.Context) (t KernelTraffic, err error) {
	err = c.Ask(ctx, OpKernelTraffic, struct{}{}, &t)
	return t, err
}

// KernelSession is a persistence session of a kernel farm.
type KernelSession struct {
	// Key is the text form that operators write, e.g. "10.0.0.1 . 4022".
	Key     string        `json:"key"`
	Backend uint32        `json:"backend"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Static  bool          `json:"static,omitempty"`
}

// KernelSessions is a list of sessions of a farm and their total number.
type KernelSessions struct {
	Total int             `json:"total"`
	List  []KernelSession `json:"list,omitempty"`
}

// KernelQuestion selects sessions of a backend group (Service): at most Limit, or the one
// with Key.
type KernelQuestion struct {
	Service uint32 `json:"service"`
	Limit   int    `json:"limit,omitempty"`
	Key     string `json:"key,omitempty"`
}

// KernelSessions returns at most limit sessions of a farm.
func (c *Client) KernelSessions(ctx context.Context, service uint32, limit int) (s KernelSessions, err error) {
	err = c.Ask(ctx, OpKernelSessions, KernelQuestion{Service: service, Limit: limit}, &s)
	return s, err
}

// KernelSession returns the session of a client. ok is false if there is none.
func (c *Client) KernelSession(ctx context.Context, service uint32, key string) (s KernelSession, ok bool, err error) {
	var found KernelSessions
	if err := c.Ask(ctx, OpKernelSession, KernelQuestion{Service: service, Key: key}, &found); err != nil || len(found.List) == 0 {
		return s, false, err
	}
	return found.List[0], true, nil
}

// KernelAct is an operation on sessions.
type KernelAct string

// Operations on sessions.
const (
	KernelAdd    KernelAct = "add"    // bind Key to Backend for TTL; 0 means the TTL of the farm
	KernelDelete KernelAct = "delete" // delete Key
	KernelFlush  KernelAct = "flush"  // delete all sessions except static ones
)

// KernelChange is the body of OpKernelChange.
type KernelChange struct {
	Service uint32        `json:"service"`
	Act     KernelAct     `json:"act"`
	Key     string        `json:"key,omitempty"`
	Backend uint32        `json:"backend,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
}

// KernelChange changes sessions and returns their number.
func (c *Client) KernelChange(ctx context.Context, change KernelChange) (changed int, err error) {
	err = c.Ask(ctx, OpKernelChange, change, &changed)
	return changed, err
}

// KernelLearned holds sessions to add to a farm.
type KernelLearned struct {
	Service uint32          `json:"service"`
	List    []KernelSession `json:"list"`
}

// KernelLearn adds sessions to a farm as if their clients had connected, and returns the
// number of sessions added. The list travels in sealed memory.
func (c *Client) KernelLearn(ctx context.Context, learned KernelLearned) (n int, err error) {
	err = c.askSealed(ctx, OpKernelLearn, "sluice-sessions", learned, &n)
	return n, err
}

// OpenLearned decodes the attachment of KernelLearn.
func OpenLearned(files []*os.File) (l KernelLearned, err error) {
	err = openSealed(files, "sessions", maxLearned, &l)
	return l, err
}

// maxLearned bounds the body of KernelLearn in bytes; 100,000 sessions take about 12 MiB.
const maxLearned = 16 << 20
