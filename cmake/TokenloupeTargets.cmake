# What every target of the project shares: language level, warnings, build type, sanitizers, compiler cache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Dev: fast to build, line numbers in traces, asserts on. The kernels are compiled with -O3 in every type.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_EXE_LINKER_FLAGS_DEV "")
set(CMAKE_SHARED_LINKER_FLAGS_DEV "")

# moc 6.4 cannot parse the standard library's <concepts>, which <compare> includes: skip it by its include guard.
set(CMAKE_AUTOMOC_MOC_OPTIONS -D_GLIBCXX_CONCEPTS)

# Some hundred test programs are linked: a quick linker saves minutes.
find_program(TOKENLOUPE_MOLD mold)
if(TOKENLOUPE_MOLD AND TOKENLOUPE_TESTS)
    add_link_options(-fuse-ld=mold)
endif()

find_program(TOKENLOUPE_CCACHE ccache)
if(TOKENLOUPE_CCACHE)
    # The sloppiness is what ccache asks for before it caches files that use a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TOKENLOUPE_CCACHE})
endif()

add_library(tokenloupe_options INTERFACE)
# Only for C++: nvcc has options of its own (see TokenloupeCuda).
target_compile_options(tokenloupe_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;\
-Wnon-virtual-dtor;-Wold-style-cast;-Woverloaded-virtual;-Wcast-align;-Wno-missing-field-initializers>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees overlaps and overruns that are none in inlined std::string code; the sanitizers see the true ones.
    target_compile_options(tokenloupe_options INTERFACE
        "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endif()
if(TOKENLOUPE_WERROR)
    target_compile_options(tokenloupe_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(TOKENLOUPE_SANITIZE)
    # A target with the property TOKENLOUPE_UNWATCHED is compiled without the checks; what it calls has them.
    set(checks -fsanitize=${TOKENLOUPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_compile_options(tokenloupe_options INTERFACE
        "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:TOKENLOUPE_UNWATCHED>>>:${checks}>")
    target_link_options(tokenloupe_options INTERFACE -fsanitize=${TOKENLOUPE_SANITIZE})
endif()
target_include_directories(tokenloupe_options INTERFACE ${PROJECT_SOURCE_DIR})

# Precompiled headers, where the preset asks for them: parsing Qt Test and the standard library is most of the time of
# a test build. One for each kind of target, shared by all of the kind; sources with flags of their own do without
# (SKIP_PRECOMPILE_HEADERS). The release preset builds without, so that a missing #include does not go unnoticed.
set(pch_std <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <stop_token>
    <string> <string_view> <variant> <vector> <nlohmann/json.hpp> <tl/expected.hpp>)
set(pch_core ${pch_std} <QAbstractTableModel> <QMetaObject> <QObject> <QString> <QTimer>)
set(pch_qt ${pch_std} <QApplication> <QLabel> <QMouseEvent> <QPainter> <QToolButton> <QVBoxLayout>)
set(pch_test ${pch_std} <QSignalSpy> <QTest>)
set(pch_guitest ${pch_qt} <QSignalSpy> <QTest>)

# tokenloupe_precompile(KIND LIBS…): the target that carries the precompiled header of a kind.
function(tokenloupe_precompile kind)
    add_library(tokenloupe_pch_${kind} OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch/empty.cpp)
    target_link_libraries(tokenloupe_pch_${kind} PRIVATE tokenloupe_options nlohmann_json::nlohmann_json tl::expected ${ARGN})
    if(kind MATCHES "^(core|qt)$")
        target_compile_definitions(tokenloupe_pch_${kind} PRIVATE ${tokenloupe_qt_definitions})
    endif()
    target_precompile_headers(tokenloupe_pch_${kind} PRIVATE ${pch_${kind}})
endfunction()

function(tokenloupe_use_precompiled target kind)
    if(TARGET tokenloupe_pch_${kind})
        target_precompile_headers(${target} REUSE_FROM tokenloupe_pch_${kind})
    endif()
endfunction()

set(tokenloupe_qt_definitions QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_USE_QSTRINGBUILDER)

# tokenloupe_library(NAME SOURCES… [LIBS …] [MOC] [PLAIN])
# PLAIN: no precompiled header (sources with instruction sets of their own).
# MOC: the sources hold QObjects; also sets the Qt string-safety definitions.
function(tokenloupe_library name)
    cmake_parse_arguments(arg "MOC;PLAIN" "" "SOURCES;LIBS" ${ARGN})
    if(NOT arg_SOURCES)
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE tokenloupe_options ${arg_LIBS})
        return()
    endif()
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC tokenloupe_options ${arg_LIBS})
    if(arg_MOC)
        set_target_properties(${name} PROPERTIES AUTOMOC ON)
        target_compile_definitions(${name} PRIVATE ${tokenloupe_qt_definitions})
    endif()
    if(arg_PLAIN)
        return()
    elseif(arg_MOC AND "Qt6::Core" IN_LIST arg_LIBS)
        tokenloupe_use_precompiled(${name} core)
    elseif(arg_MOC)
        tokenloupe_use_precompiled(${name} qt)
    else()
        tokenloupe_use_precompiled(${name} std)
    endif()
endfunction()

# x.moc for each x.cpp that includes it. What CMake itself does for moc takes a scan, a target and an object more, for
# each of some hundred programs.
function(tokenloupe_moc_test name)
    foreach(source ${ARGN})
        get_filename_component(base ${source} NAME_WLE)
        file(STRINGS ${source} includes_moc REGEX "^#include \"${base}\\.moc\"")
        if(NOT includes_moc)
            continue()
        endif()
        set(output ${CMAKE_CURRENT_BINARY_DIR}/moc/${base}.moc)
        add_custom_command(OUTPUT ${output}
            COMMAND Qt6::moc ${CMAKE_AUTOMOC_MOC_OPTIONS} -o ${output} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
            DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} VERBATIM)
        target_sources(${name} PRIVATE ${output})
        target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/moc)
    endforeach()
endfunction()

# tokenloupe_test(NAME SOURCES… LIBS … [GUI] [LOGIC] [LABELS …]): a Qt Test program, run offscreen.
# LOGIC: what it tests calls no kernel and starts no thread, so it is the same code with the same optimisation in the dev
# and the asan preset, and a run under the sanitizers says all that another could. With TOKENLOUPE_LOGIC_TESTS off it
# is built only when asked for by name.
function(tokenloupe_test name)
    cmake_parse_arguments(arg "GUI;LOGIC" "" "SOURCES;LIBS;LABELS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    tokenloupe_moc_test(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE tokenloupe_options tokenloupe_testsupport Qt6::Test ${arg_LIBS})
    if(arg_GUI)
        target_link_libraries(${name} PRIVATE Qt6::Widgets)
    endif()
    if(arg_GUI)
        tokenloupe_use_precompiled(${name} guitest)
    else()
        tokenloupe_use_precompiled(${name} test)
    endif()
    if(arg_LOGIC AND NOT TOKENLOUPE_LOGIC_TESTS)
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}"
        ENVIRONMENT "QT_QPA_PLATFORM=offscreen;QT_LOGGING_RULES=qt.qpa.*=false")
endfunction()
