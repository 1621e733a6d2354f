package stats

// Traffic is what somebody else than the loops counted: the kernel, of the farms
// it carries. By the stable numbers of farms and backends; what is not counted
// is zero. Whoever gets one only reads it.
type Traffic struct {
	Farms    map[uint32]Farm
	Backends map[uint32]Backend
}
