// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/replay/machine.hpp>
#include <tier/replay/machines.hpp>

#include <utility>

namespace tier::replay {
namespace {

using std::chrono::nanoseconds;

constexpr double GB = 1e9;

/// Returns the operations a second of a core with two units that multiply and add 16 floats at a time.
constexpr double avx512_core(double GHz) { return 64 * GHz * GB; }

/// The efficiency of kernels, and their passes over operands: our choice, of the order of what oneDNN reaches on a
/// server. An operation without a line is bound by memory.
std::vector<OpCost> cpu_ops() {
  return {{.op = "conv1_", .efficiency = 0.45}, {.op = "conv3_", .efficiency = 0.65},
          {.op = "conv7_", .efficiency = 0.5},  {.op = "fc_", .efficiency = 0.7},
          {.op = "matmul_", .efficiency = 0.7}, {.op = "lstm_", .efficiency = 0.6},
          {.op = "bn_f", .reads = 2},           {.op = "bn_b", .reads = 2}};
}

/// The CPU's, except passes, which are fitted to what kernels of CachedArrays' three large networks read (4.35, 5.9 and
/// 10.54 TB) and write (1.98, 2.30 and 3.85 TB), and those of the 1x1 kernels for weights to what L and LM read in NVRAM.
/// A norm and its relu are one kernel there, with a mask, which passes twice over what ours pass over once each.
std::vector<OpCost> cachedarrays_ops() {
  auto ops = cpu_ops();
  std::erase_if(ops, [](const OpCost& o) { return o.op.starts_with("bn_") || o.op.starts_with("conv"); });
  ops.insert(ops.end(), {{.op = "conv1_f", .efficiency = 0.45, .reads = 5, .writes = 1.2},
                         {.op = "conv1_d", .efficiency = 0.45, .reads = 5, .writes = 1.2},
                         {.op = "conv1_w", .efficiency = 0.45},
                         {.op = "conv3_", .efficiency = 0.65, .reads = 4.3, .writes = 2.7},
                         {.op = "conv7_", .efficiency = 0.5}});
  return ops;
}

/// AutoTM's published profile: 24 threads, weighted by time, relative to all operands in DRAM.
std::vector<SlowDown> optane_slow_downs() {
  std::vector<SlowDown> all;
  const auto add = [&](std::initializer_list<const char*> ops, double inputs, double outputs, double both) {
    for (const char* op : ops) all.push_back({"optane", op, inputs, outputs, both});
  };
  add({"conv1_f", "conv3_f", "conv7_f"}, 1.08, 2.55, 2.70);
  add({"conv1_d", "conv3_d", "conv7_d"}, 1.03, 3.32, 3.48);
  add({"conv1_w", "conv3_w", "conv7_w"}, 1.26, 1.17, 1.43);
  add({"fc_", "matmul_"}, 1.00, 4.11, 4.09);
  add({"bn_f"}, 1.62, 9.05, 9.20);
  add({"bn_b"}, 2.12, 6.63, 7.33);
  add({"relu_b"}, 2.41, 9.61, 11.1);
  add({"add"}, 2.33, 9.66, 11.2);
  add({"concat"}, 2.30, 11.1, 13.1);
  add({"copy"}, 3.03, 13.1, 16.3);
  add({"pool_f"}, 2.44, 6.9, 8.3);
  add({"pool_b"}, 1.24, 15.0, 14.9);
  return all;
}

Device ddr4(double peak) {
  return {.name = "dram",
          .source =
              "channels at their peak; kernels and copies at 70 % of it, one thread at 12 GB/s, "
              "latency, parallelism: our choice",
          .read = 0.7 * peak,
          .store = 0.7 * peak,
          .copy_read = 0.7 * peak,
          .copy_write = 0.7 * peak,
          .mover_read = 12 * GB,
          .mover_write = 12 * GB,
          .latency = nanoseconds{90},
          .parallelism = 64,
          .link = {}};
}

Device optane() {
  return {.name = "optane",
          .source =
              "AutoTM: copies at 29 and 12 GB/s, by one thread at 2 and 2.5; ordinary stores "
              "3.8, loads 30 GB/s; latency, parallelism: our choice",
          .read = 30 * GB,
          .store = 3.8 * GB,
          .copy_read = 29 * GB,
          .copy_write = 12 * GB,
          .mover_read = 2 * GB,
          .mover_write = 2.5 * GB,
          .latency = nanoseconds{300},
          .parallelism = 16,
          .link = {},
          .addressable = true,
          .persistent = true};
}

Device ddr5() {
  return {.name = "ddr5",
          .source =
              "8 channels of DDR5-4800, 307 GB/s; that kernels and copies reach 75 % of it, one "
              "thread 14 GB/s, latency, parallelism: our choice",
          .read = 230 * GB,
          .store = 230 * GB,
          .copy_read = 230 * GB,
          .copy_write = 230 * GB,
          .mover_read = 14 * GB,
          .mover_write = 14 * GB,
          .latency = nanoseconds{110},
          .parallelism = 128,
          .link = {}};
}

Device cxl() {
  return {.name = "cxl",
          .source =
              "CXL 2.0 over PCIe 5 x16, 64 GB/s each way; that copies and loads reach 75 % of "
              "it, stores 40 GB/s, one thread 10 and 12, parallelism: our choice; so is 250 ns, "
              "where three cards had 2 to 5 times DRAM's latency (arXiv 2405.14209)",
          .read = 48 * GB,
          .store = 40 * GB,
          .copy_read = 48 * GB,
          .copy_write = 48 * GB,
          .mover_read = 10 * GB,
          .mover_write = 12 * GB,
          .latency = nanoseconds{250},
          .parallelism = 64,
          .link = {}};
}

Device nvme(std::string name, std::string source, double read, double write) {
  return {.name = std::move(name),
          .source = std::move(source),
          .read = read,
          .store = write,
          .copy_read = read,
          .copy_write = write,
          .mover_read = read,  // one thread keeps its queue full
          .mover_write = write,
          .latency = nanoseconds{70'000},
          .parallelism = 128,
          .link = {},
          .addressable = false,
          .persistent = true};
}

Device host_memory(std::string source, double read, double write, nanoseconds latency) {
  return {.name = "host",
          .source = std::move(source),
          .read = read,
          .store = write,
          .copy_read = read,
          .copy_write = write,
          .mover_read = read,  // the device's copy engines carry it
          .mover_write = write,
          .latency = latency,
          .parallelism = 256,
          .link = {}};
}

Device h200_memory() {
  return {.name = "h200",
          .source =
              "NVIDIA's data sheet: 4.8 TB/s of HBM3e, at 85 %, as STREAM got 3.4 of a GH200's 4 TB/s "
              "(Schieffer et al., ICPP 2024); latency of a GH200, "
              "whose GPU is alike: 690 cycles (github.com/markdewing/AI_kernels, "
              "latency/README.md), which we take to be of 1.98 GHz; parallelism: our choice",
          .read = 4080 * GB,
          .store = 4080 * GB,
          .copy_read = 4080 * GB,
          .copy_write = 4080 * GB,
          .mover_read = 4080 * GB,
          .mover_write = 4080 * GB,
          .latency = nanoseconds{350},
          .parallelism = 1024,
          .link = {}};
}

Machine h200(std::string name, Device host) {
  return {.name = std::move(name),
          .source =
              "NVIDIA's data sheet: 67 TFLOP/s in single precision; that copies cost kernels "
              "nothing, and kernels' efficiency, which is a CPU's: our choice",
          .cores = 132,
          .operations = 67e12,
          .lost_to_mover = 0,
          .devices = {h200_memory(), std::move(host)},
          .ops = cpu_ops(),
          .slow_downs = {}};
}

Machine cachedarrays() {
  return {.name = "cachedarrays",
          .source =
              "CachedArrays: a Xeon 8276L of 28 cores, 6 channels of DDR4-2933; clock under "
              "AVX-512, and what one thread for copies takes of the cores: our choice; kernels' "
              "passes over memory fitted to its published traffic",
          .cores = 28,
          .operations = 28 * avx512_core(2.0),
          .lost_to_mover = 1.0 / 28,
          .devices = {ddr4(140.8 * GB), optane()},
          .ops = cachedarrays_ops(),
          .slow_downs = optane_slow_downs()};
}

Machine autotm() {
  return {.name = "autotm",
          .source =
              "AutoTM: a Xeon of 24 cores, 6 channels of DDR4-2666; clock under AVX-512, "
              "kernels' efficiency, and what one thread for copies takes of the cores: our choice",
          .cores = 24,
          .operations = 24 * avx512_core(2.0),
          .lost_to_mover = 1.0 / 24,
          .devices = {ddr4(128 * GB), optane()},
          .ops = cpu_ops(),
          .slow_downs = optane_slow_downs()};
}

Machine redl() {
  auto fast = ddr4(34 * GB / 0.7);
  fast.source = "ReDL: 34 GB/s, 90 ns; one thread at 12 GB/s, parallelism: our choice";
  auto slow = fast;
  slow.name = "redl";
  slow.source = "ReDL: 19 GB/s, 200 ns; one thread at 12 GB/s, parallelism: our choice";
  slow.read = slow.store = slow.copy_read = slow.copy_write = 19 * GB;
  slow.latency = nanoseconds{200};
  return {.name = "redl",
          .source = "ReDL: memory rates; cores, clock, kernels' efficiency: our choice",
          .cores = 16,
          .operations = 16 * avx512_core(1.5),
          .lost_to_mover = 1.0 / 16,
          .devices = {std::move(fast), std::move(slow)},
          .ops = cpu_ops(),
          .slow_downs = {}};
}

Machine server() {
  auto nvme4 =
      nvme("nvme4",
           "Samsung PM9A3, U.2, as announced: 6.5 GB/s read and 3.5 written; 70 us, parallelism: our choice",
           6.5 * GB, 3.5 * GB);
  auto nvme5 = nvme(
      "nvme5", "Samsung PM1743, as announced: 13 GB/s read and 6.6 written; 70 us, parallelism: our choice",
      13 * GB, 6.6 * GB);
  return {.name = "server",
          .source =
              "a socket of DDR5, CXL 2.0 and NVMe; 48 cores, clock under AVX-512, kernels' "
              "efficiency: our choice",
          .cores = 48,
          .operations = 48 * avx512_core(2.2),
          .lost_to_mover = 1.0 / 48,
          .devices = {ddr5(), cxl(), std::move(nvme4), std::move(nvme5)},
          .ops = cpu_ops(),
          .slow_downs = {}};
}

Machine xeon_max() {
  auto hbm = ddr5();
  hbm.name = "hbm";
  hbm.source =
      "Xeon Max, HBM2e: that all cores draw 590 GB/s, one thread 14 GB/s, latency, parallelism: our choice";
  hbm.read = hbm.store = hbm.copy_read = hbm.copy_write = 590 * GB;
  // No measured latency could be read at its source; it is likely to be above DDR5's. It matters only for copies from and
  // to DDR5 below 49 KB: larger ones take longer at 230 GB/s than both latencies.
  hbm.latency = nanoseconds{105};
  return {.name = "xeon_max",
          .source = "a Xeon Max 9480 of 56 cores; clock under AVX-512, kernels' efficiency: our choice",
          .cores = 56,
          .operations = 56 * avx512_core(2.0),
          .lost_to_mover = 1.0 / 56,
          .devices = {std::move(hbm), ddr5(), cxl()},
          .ops = cpu_ops(),
          .slow_downs = {}};
}

std::vector<Machine> h200_machines() {
  auto pcie5 = host_memory("PCIe 5 x16: 64 GB/s each way; at 85 % of it, 1 us, parallelism: our choice",
                           54 * GB, 54 * GB, nanoseconds{1000});
  auto c2c = host_memory(
      "NVLink-C2C of a GH200: 375 GB/s to the GPU and 297 back, of 450 each way (Schieffer et al., "
      "ICPP 2024); 600 ns, parallelism: our choice",
      375 * GB, 297 * GB, nanoseconds{600});
  return {h200("h200_pcie5", std::move(pcie5)), h200("h200_c2c", std::move(c2c))};
}

std::vector<Machine> all_machines() {
  std::vector<Machine> all{cachedarrays(), autotm(), redl(), server(), xeon_max()};
  for (auto& machine : h200_machines()) all.push_back(std::move(machine));
  return all;
}

const std::vector<Machine>& machines() {
  static const auto all = all_machines();
  return all;
}

}  // namespace

const Machine* find_machine(std::string_view name) {
  for (const auto& m : machines())
    if (m.name == name) return &m;
  return nullptr;
}

std::vector<std::string_view> machine_names() {
  std::vector<std::string_view> names;
  for (const auto& m : machines()) names.push_back(m.name);
  return names;
}

}  // namespace tier::replay
