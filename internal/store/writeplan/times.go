package writeplan

import "time"

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
