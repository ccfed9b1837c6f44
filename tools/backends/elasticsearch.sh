#!/usr/bin/env bash
# Elasticsearch 7.14.2 without a container: the genuine core, HTTP layer and reindex module from their published jars, in one JVM.
# No security, ILM, Painless, ingest pipelines or further analyzers: they are not among the jars.
#   elasticsearch.sh build                   fetches the jars, once for each machine
#   elasticsearch.sh start|stop|kill|wipe    kill is kill -9; wipe kills it and deletes its data
# ELASTICSEARCH_PORT (9200) and ELASTICSEARCH_TRANSPORT_PORT (9300) are where it listens.
. "$(dirname "$0")/common.sh"
PORT=${ELASTICSEARCH_PORT:-9200} TRANSPORT=${ELASTICSEARCH_TRANSPORT_PORT:-9300}
JARS=$STATE/elasticsearch-jars

build() {
  need elasticsearch java javac
  [ ! -f "$JARS/.complete" ] || return 0
  need elasticsearch mvn
  say "elasticsearch: fetching the jars of Elasticsearch 7.14.2"
  quietly "$STATE/elasticsearch-build.log" "$HERE/../again.sh" mvn -q -B -Dstyle.color=never -f "$HERE/elasticsearch/pom.xml" dependency:copy-dependencies -DoutputDirectory="$JARS"
  touch "$JARS/.complete"
}

# Netty's shortcuts and JMX need access that Java 17 refuses.
start() {
  serve elasticsearch "$PORT" 300 ready java -Xms512m -Xmx512m -Djava.awt.headless=true -Djava.locale.providers=SPI,COMPAT \
    -Dio.netty.noUnsafe=true -Dio.netty.noKeySetOptimization=true -Dio.netty.recycler.maxCapacityPerThread=0 \
    -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true \
    -cp "$JARS/*" "$HERE/elasticsearch/Node7.java" "$STATE/elasticsearch" \
    network.host=127.0.0.1 http.port="$PORT" transport.port="$TRANSPORT" discovery.type=single-node \
    cluster.name=strata-test cluster.routing.allocation.disk.threshold_enabled=false node.processors=2
}
ready() { curl -fs --max-time 5 "http://127.0.0.1:$PORT/_cluster/health?wait_for_status=yellow&timeout=1s"; }
address() { echo "export STRATA_TEST_ELASTICSEARCH_URL='http://127.0.0.1:$PORT'"; }

verb elasticsearch TERM "${1:-}"
